import { useNavigate } from "@tanstack/react-router";
import {
  Archive,
  ArchiveRestore,
  ChartColumn,
  CopyPlus,
  EllipsisVertical,
  Pencil,
  QrCode,
  Trash2,
} from "lucide-react";
import { useEditor } from "../editor/open";
import { decoded, readable } from "../format";
import { texts } from "../texts";
import { IconButton } from "../ui/Button";
import { Menu } from "../ui/Menu";
import { useLinkActions } from "./actions";
import type { Row } from "./row";

/** What can be done with one link. */
export function RowMenu({ row }: { row: Row }) {
  const navigate = useNavigate();
  const editor = useEditor();
  const actions = useLinkActions();
  const label = texts.actions.menu(readable(decoded(row.shortUrl)));
  return (
    <Menu
      label={label}
      trigger={(props) => (
        <IconButton {...props} size="smallIcon" label={label}>
          <EllipsisVertical size={16} aria-hidden />
        </IconButton>
      )}
      entries={[
        { label: texts.actions.edit, icon: Pencil, onSelect: () => editor.edit(row.id) },
        {
          label: texts.actions.analytics,
          icon: ChartColumn,
          onSelect: () => void navigate({ to: "/links/$id", params: { id: row.id } }),
        },
        { label: texts.actions.qr, icon: QrCode, onSelect: () => editor.qr(row.id) },
        { label: texts.actions.duplicate, icon: CopyPlus, onSelect: () => editor.duplicate(row.id) },
        {
          label: row.archived ? texts.actions.restore : texts.actions.archive,
          icon: row.archived ? ArchiveRestore : Archive,
          apart: true,
          onSelect: () => actions.archive([row.id], !row.archived),
        },
        { label: texts.actions.delete, icon: Trash2, danger: true, onSelect: () => actions.remove([row.id]) },
      ]}
    />
  );
}
