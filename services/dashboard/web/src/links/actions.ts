import { useQueryClient } from "@tanstack/react-query";
import { deleteLink, editLink, linksKey } from "../api/links";
import { explain } from "../api/problem";
import type { LinkEdit } from "../api/types";
import { texts } from "../texts";
import { useToast } from "../ui/toast";
import { useOverlay } from "./overlay";

/** How many calls of a bulk action run side by side. */
const AT_ONCE = 6;

/** Runs a call for each id, a few at a time, and counts what failed. */
export async function forEach(
  ids: readonly string[],
  run: (id: string) => Promise<unknown>,
): Promise<{ failed: string[]; error: unknown }> {
  const left = [...ids];
  const failed: string[] = [];
  let error: unknown;
  const worker = async () => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      try {
        await run(id);
      } catch (thrown) {
        failed.push(id);
        error = thrown;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, ids.length) }, worker));
  return { failed, error };
}

/** What can be done to links from a list: shown at once, with a way back. */
export function useLinkActions() {
  const client = useQueryClient();
  const toast = useToast();
  const { set, clear } = useOverlay();
  const refresh = () => client.invalidateQueries({ queryKey: linksKey });

  const change = async (ids: readonly string[], edit: LinkEdit) => {
    const { failed, error } = await forEach(ids, (id) => editLink(id, edit));
    if (failed.length > 0) {
      clear(failed);
      toast({ tone: "bad", text: texts.actions.failed(failed.length, explain(error)) });
    }
    await refresh();
  };

  /** Archived links keep redirecting; they only leave the list. */
  const archive = (ids: readonly string[], archived: boolean) => {
    set(ids, { archived });
    void change(ids, { archived });
    toast({
      text: (archived ? texts.actions.archived : texts.actions.restored)(ids.length),
      action: {
        label: texts.undo,
        run: () => {
          set(ids, { archived: !archived });
          void change(ids, { archived: !archived });
        },
      },
    });
  };

  /** A deletion has no way back, so it waits until nobody can ask for one. */
  const remove = (ids: readonly string[]) => {
    set(ids, undefined);
    toast({
      text: texts.actions.deleted(ids.length),
      action: { label: texts.undo, run: () => clear(ids) },
      onGone: () => {
        void (async () => {
          const { failed, error } = await forEach(ids, deleteLink);
          if (failed.length > 0) {
            clear(failed);
            toast({ tone: "bad", text: texts.actions.failed(failed.length, explain(error)) });
          }
          await refresh();
        })();
      },
    });
  };

  return { archive, remove, refresh };
}
