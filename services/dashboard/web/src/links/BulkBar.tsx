import { Archive, ArchiveRestore, Download, Tag, Trash2, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { editLink } from "../api/links";
import { explain } from "../api/problem";
import { texts } from "../texts";
import { Button, IconButton } from "../ui/Button";
import { csvOf, saveText } from "../ui/download";
import { Field } from "../ui/Field";
import { Popover } from "../ui/Popover";
import { useToast } from "../ui/toast";
import { forEach, useLinkActions } from "./actions";
import type { Row } from "./row";
import type { ListView } from "./search";

interface Props {
  rows: Row[];
  view: ListView;
  onClear: () => void;
}

/** What can be done with all selected links at once. */
export function BulkBar({ rows, view, onClear }: Props) {
  const actions = useLinkActions();
  const ids = rows.map((row) => row.id);
  const then = (run: () => void) => () => {
    run();
    onClear();
  };
  const t = texts.bulk;
  return (
    <div className="pointer-events-none sticky bottom-16 z-10 mt-4 flex justify-center md:bottom-4">
      <div
        role="toolbar"
        aria-label={t.label}
        className="pointer-events-auto flex max-w-full flex-wrap items-center gap-2 rounded-xl border border-line bg-panel py-2 pr-2 pl-4 shadow-xl"
      >
        <span className="font-medium tabular-nums">{t.selected(rows.length)}</span>
        <AddTag rows={rows} onDone={onClear} />
        <Button size="small" onClick={then(() => actions.archive(ids, !view.archived))}>
          {view.archived ? <ArchiveRestore size={15} aria-hidden /> : <Archive size={15} aria-hidden />}
          {view.archived ? texts.actions.restore : texts.actions.archive}
        </Button>
        <Button size="small" onClick={() => saveText("links.csv", linksCsv(rows))}>
          <Download size={15} aria-hidden />
          {t.export}
        </Button>
        <Button size="small" kind="danger" onClick={then(() => actions.remove(ids))}>
          <Trash2 size={15} aria-hidden />
          {texts.actions.delete}
        </Button>
        <IconButton size="smallIcon" label={t.clear} onClick={onClear}>
          <X size={15} aria-hidden />
        </IconButton>
      </div>
    </div>
  );
}

function AddTag({ rows, onDone }: { rows: Row[]; onDone: () => void }) {
  const [tag, setTag] = useState("");
  const toast = useToast();
  const { refresh } = useLinkActions();
  const add = async (event: FormEvent, close: () => void) => {
    event.preventDefault();
    const name = tag.trim();
    if (!name) {
      return;
    }
    close();
    const tagsOf = new Map(rows.map((row) => [row.id, row.tags]));
    const { failed, error } = await forEach([...tagsOf.keys()], (id) =>
      editLink(id, { tags: [...new Set([...(tagsOf.get(id) ?? []), name])] }),
    );
    toast(
      failed.length > 0
        ? { tone: "bad", text: texts.actions.failed(failed.length, explain(error)) }
        : { text: texts.bulk.tagged(rows.length, name) },
    );
    await refresh();
    onDone();
  };
  return (
    <Popover
      label={texts.bulk.addTag}
      className="w-64"
      trigger={(props) => (
        <Button size="small" {...props} aria-haspopup="dialog">
          <Tag size={15} aria-hidden />
          {texts.bulk.addTag}
        </Button>
      )}
    >
      {(close) => (
        <form onSubmit={(event) => void add(event, close)} className="space-y-3 p-3">
          <Field
            label={texts.form.tag}
            required
            maxLength={64}
            value={tag}
            onChange={(event) => setTag(event.target.value)}
          />
          <Button kind="primary" type="submit">
            {texts.bulk.add}
          </Button>
        </form>
      )}
    </Popover>
  );
}

function linksCsv(rows: Row[]): string {
  return csvOf([
    ["short_url", "destination", "title", "tags", "created_at", "clicks", "unique_visitors", "last_click_at"],
    ...rows.map((row) => [
      row.shortUrl,
      row.destination,
      row.title,
      row.tags.join("|"),
      row.createdAt,
      row.figures?.clicks ?? "",
      row.figures?.unique_visitors ?? "",
      row.figures?.last_click_at ?? "",
    ]),
  ]);
}
