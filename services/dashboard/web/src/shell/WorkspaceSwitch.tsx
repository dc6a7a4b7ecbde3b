import { useMutation, useSuspenseQuery } from "@tanstack/react-query";
import { ChevronsUpDown, UserPlus } from "lucide-react";
import { explain } from "../api/problem";
import { sessionQuery, switchWorkspace } from "../api/session";
import { currentWorkspace, enterWorkspace, useOneWorkspace } from "../session/workspace";
import { texts } from "../texts";
import { Menu } from "../ui/Menu";
import { useToast } from "../ui/toast";

/** Which workspace is open, and the way to the others. */
export function WorkspaceSwitch({ onJoin }: { onJoin: () => void }) {
  const { data: who } = useSuspenseQuery(sessionQuery);
  const toast = useToast();
  useOneWorkspace(who);
  const move = useMutation({
    mutationFn: switchWorkspace,
    onSuccess: enterWorkspace,
    onError: (error) => toast({ tone: "bad", text: explain(error) }),
  });
  const t = texts.workspaces;
  const name = currentWorkspace(who)?.name ?? t.unnamed;
  return (
    <Menu
      label={t.menu}
      align="start"
      trigger={(props) => (
        <button
          type="button"
          {...props}
          aria-label={t.current(name)}
          title={name}
          aria-busy={move.isPending}
          className="flex h-9 min-w-0 max-w-52 items-center gap-1.5 rounded-lg px-2 font-medium transition-colors hover:bg-sunken"
        >
          <span className="truncate">{name}</span>
          <ChevronsUpDown size={14} aria-hidden className="shrink-0 text-quiet" />
        </button>
      )}
      header={<p className="px-2.5 pt-1.5 pb-1 text-quiet text-xs">{t.heading}</p>}
      entries={[
        ...who.workspaces.map((workspace) => ({
          key: workspace.id,
          label: workspace.name,
          detail: texts.members.roles[workspace.role],
          checked: workspace.id === who.workspace_id,
          onSelect: () => workspace.id !== who.workspace_id && move.mutate(workspace.id),
        })),
        { label: t.join, icon: UserPlus, apart: true, onSelect: onJoin },
      ]}
    />
  );
}
