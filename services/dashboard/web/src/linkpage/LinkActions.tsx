import { useNavigate } from "@tanstack/react-router";
import { Archive, ArchiveRestore, CopyPlus, EllipsisVertical, Pencil, QrCode, Trash2 } from "lucide-react";
import type { Link } from "../api/types";
import { useEditor } from "../editor/open";
import { useLinkActions } from "../links/actions";
import { texts } from "../texts";
import { Button, IconButton } from "../ui/Button";
import { useHotkeys } from "../ui/hotkeys";
import { Menu } from "../ui/Menu";

/** What can be done with the link that one looks at. */
export function LinkActions({ link }: { link: Link }) {
  const editor = useEditor();
  const actions = useLinkActions();
  const navigate = useNavigate();
  const t = texts.actions;
  useHotkeys({ e: () => editor.edit(link.id) });
  return (
    <>
      <Button onClick={() => editor.qr(link.id)}>
        <QrCode size={15} aria-hidden className="text-quiet" />
        {t.qr}
      </Button>
      <Button onClick={() => editor.edit(link.id)}>
        <Pencil size={15} aria-hidden className="text-quiet" />
        {t.edit}
      </Button>
      <Menu
        label={t.more}
        trigger={(props) => (
          <IconButton {...props} label={t.more}>
            <EllipsisVertical size={17} aria-hidden />
          </IconButton>
        )}
        entries={[
          { label: t.duplicate, icon: CopyPlus, onSelect: () => editor.duplicate(link.id) },
          {
            label: link.archived ? t.restore : t.archive,
            icon: link.archived ? ArchiveRestore : Archive,
            onSelect: () => actions.archive([link.id], !link.archived),
          },
          {
            label: t.delete,
            icon: Trash2,
            danger: true,
            apart: true,
            onSelect: () => {
              actions.remove([link.id]);
              void navigate({ to: "/", search: {} });
            },
          },
        ]}
      />
    </>
  );
}
