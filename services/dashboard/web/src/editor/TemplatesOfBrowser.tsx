import type { UseMutationResult } from "@tanstack/react-query";
import { explain } from "../api/problem";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { useToast } from "../ui/toast";
import type { Template } from "./templates";

interface Props {
  kept: Template[];
  move: UseMutationResult<void, Error, void>;
  drop: () => void;
}

/** Offers, once, to move what an earlier version kept in this browser. */
export function TemplatesOfBrowser({ kept, move, drop }: Props) {
  const toast = useToast();
  const t = texts.utm;
  if (kept.length === 0) {
    return null;
  }
  return (
    <div className="flex flex-wrap items-center gap-2 rounded-lg bg-accent-soft px-3 py-2">
      <p className="min-w-48 grow text-accent-text text-xs">{t.kept(kept.length)}</p>
      <Button
        size="small"
        disabled={move.isPending}
        onClick={() =>
          move.mutate(undefined, {
            onSuccess: () => toast({ text: t.moved }),
            onError: (error) => toast({ tone: "bad", text: explain(error) }),
          })
        }
      >
        {t.move}
      </Button>
      <Button size="small" kind="quiet" onClick={drop}>
        {t.drop}
      </Button>
    </div>
  );
}
