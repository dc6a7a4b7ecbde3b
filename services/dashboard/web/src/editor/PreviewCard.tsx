import { Image } from "lucide-react";
import { hostOf } from "../format";
import { texts } from "../texts";
import { Field, inputClass, Labelled } from "../ui/Field";
import type { PartProps } from "./EditorForm";
import { errorAt } from "./errors";
import { Group } from "./Group";

/** What chats and networks show instead of the target's own card. */
export function PreviewCard({ form, errors, set }: PartProps) {
  const t = texts.preview;
  const { preview } = form;
  const put = (change: Partial<typeof preview>) => set({ preview: { ...preview, ...change } });
  const used = preview.title || preview.text || preview.image;
  return (
    <Group
      heading={t.heading}
      hint={t.hint}
      icon={Image}
      wrong={errorAt(errors, "preview") !== undefined}
      set={used ? t.set : undefined}
    >
      <Field
        label={t.title}
        maxLength={200}
        error={errors["preview.title"]}
        value={preview.title}
        onChange={(event) => put({ title: event.target.value })}
      />
      <Labelled label={t.text} {...(errors["preview.text"] && { error: errors["preview.text"] })}>
        {(control) => (
          <textarea
            {...control}
            rows={2}
            maxLength={500}
            value={preview.text}
            onChange={(event) => put({ text: event.target.value })}
            className={`block py-2 ${inputClass} border-line-strong`}
          />
        )}
      </Labelled>
      <Field
        label={t.image}
        hint={t.imageHint}
        type="url"
        placeholder="https://"
        error={errors["preview.image"]}
        value={preview.image}
        onChange={(event) => put({ image: event.target.value })}
      />
      {used && (
        <figure>
          <figcaption className="mb-1.5 text-quiet text-xs">{t.looks}</figcaption>
          <div className="max-w-sm overflow-hidden rounded-xl border border-line bg-ground">
            {/* The picture itself is on a foreign host, which this page does not contact. */}
            <div className="grid aspect-[1.91/1] place-content-center justify-items-center gap-2 bg-sunken px-4 text-center text-quiet text-xs">
              <Image size={22} aria-hidden />
              <span className="break-all">{preview.image ? hostOf(preview.image) : t.noImage}</span>
            </div>
            <div className="px-3.5 py-2.5">
              <p className="text-quiet text-xs">{hostOf(form.destination) || "…"}</p>
              <p className="truncate font-semibold">{preview.title || t.noTitle}</p>
              {preview.text && <p className="line-clamp-2 text-quiet text-xs">{preview.text}</p>}
            </div>
          </div>
        </figure>
      )}
    </Group>
  );
}
