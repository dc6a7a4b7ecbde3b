import { texts } from "../texts";
import { Dialog, DialogBody } from "../ui/Dialog";
import { Kbd } from "../ui/Kbd";
import { importPlace, places } from "./nav";

/** All keys of the app, under "?". */
export function ShortcutHelp({ onClose }: { onClose: () => void }) {
  const t = texts.shortcuts;
  const groups: { name: string; rows: [string, string[]][] }[] = [
    {
      name: t.everywhere,
      rows: [
        [texts.palette.open, ["mod", "K"]],
        [texts.links.create, ["C"]],
        [t.help, ["?"]],
        ...[...places, importPlace].map(({ label, key }): [string, string[]] => [
          t.goTo(label),
          ["G", key.toUpperCase()],
        ]),
      ],
    },
    {
      name: t.list,
      rows: [
        [texts.links.search, ["/"]],
        [t.next, ["J"]],
        [t.previous, ["K"]],
        [t.open, ["Enter"]],
        [t.select, ["X"]],
        [t.edit, ["E"]],
        [t.archive, ["A"]],
      ],
    },
    {
      name: t.analytics,
      rows: [
        [t.presets, ["1", "–", "6"]],
        [t.clear, ["Esc"]],
      ],
    },
  ];
  return (
    <Dialog heading={t.heading} onClose={onClose} as="medium">
      <DialogBody className="grid gap-x-10 gap-y-6 sm:grid-cols-2">
        {groups.map((group) => (
          <section key={group.name} className="first:row-span-2">
            <h3 className="mb-2 font-medium text-quiet text-xs">{group.name}</h3>
            <dl>
              {group.rows.map(([label, keys]) => (
                <div key={label} className="flex items-center justify-between gap-4 py-1.5">
                  <dt>{label}</dt>
                  <dd>
                    <Kbd keys={keys} />
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </DialogBody>
    </Dialog>
  );
}
