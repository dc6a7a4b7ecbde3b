import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { BookOpen, Keyboard, Link2, type LucideIcon, Moon, Plus, Search } from "lucide-react";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { linksKey, listLinks } from "../api/links";
import { useEditor } from "../editor/open";
import { decoded, hostOf, readable } from "../format";
import { texts } from "../texts";
import { chooseTheme, currentTheme } from "../ui/theme";
import { importPlace, places } from "./nav";

const FOUND = 6;
const TYPING_MS = 150;

/** Everything by its name: places, actions, and links. The default export is what React.lazy wants. */
export default function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const asked = useSettled(text.trim());
  const navigate = useNavigate();
  const editor = useEditor();
  const found = useQuery({
    queryKey: [...linksKey, "palette", asked],
    queryFn: ({ signal }) => listLinks({ q: asked }, { limit: FOUND }, signal),
    staleTime: 10_000,
  });

  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);

  const doing = (action: () => void) => () => {
    onClose();
    action();
  };
  const t = texts.palette;
  return (
    <dialog
      ref={dialog}
      aria-label={t.heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => event.target === dialog.current && onClose()}
      className="mt-[12vh] w-[min(36rem,calc(100vw-1.5rem))] overflow-hidden rounded-2xl border border-line bg-panel p-0 text-text shadow-2xl backdrop:bg-black/40"
    >
      <Command label={t.heading} loop>
        <div className="flex items-center gap-2.5 border-line border-b px-4">
          <Search size={17} aria-hidden className="text-quiet" />
          <Command.Input
            value={text}
            onValueChange={setText}
            placeholder={t.placeholder}
            autoFocus
            className="h-12 w-full bg-transparent text-base outline-none"
          />
        </div>
        <Command.List label={t.heading} className="max-h-[min(24rem,60dvh)] overflow-y-auto p-1.5">
          <Command.Empty className="px-3 py-8 text-center text-quiet">{t.none}</Command.Empty>
          <Group heading={t.actions}>
            <Item icon={Plus} label={texts.links.create} onSelect={doing(() => editor.create())} />
            <Item
              icon={Moon}
              label={t.theme}
              onSelect={doing(() => chooseTheme(currentTheme() === "dark" ? "light" : "dark"))}
            />
            <Item icon={Keyboard} label={texts.shortcuts.heading} onSelect={doing(onHelp)} />
          </Group>
          <Group heading={t.places}>
            {[...places, importPlace].map(({ to, label, icon }) => (
              <Item key={to} icon={icon} label={label} onSelect={doing(() => void navigate({ to }))} />
            ))}
            <Item
              icon={BookOpen}
              label={texts.nav.apiDocs}
              onSelect={doing(() => location.assign("/docs"))}
            />
          </Group>
          {found.data && found.data.data.length > 0 && (
            <Group heading={t.links}>
              {found.data.data.map((link) => (
                <Item
                  key={link.id}
                  icon={Link2}
                  label={link.title || readable(decoded(link.short_url))}
                  detail={hostOf(link.destination)}
                  words={[link.slug, link.destination, asked]}
                  id={link.id}
                  onSelect={doing(() => void navigate({ to: "/links/$id", params: { id: link.id } }))}
                />
              ))}
            </Group>
          )}
        </Command.List>
      </Command>
    </dialog>
  );
}

function Group({ heading, children }: { heading: string; children: React.ReactNode }) {
  return (
    <Command.Group
      heading={heading}
      className="[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2.5 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-quiet [&_[cmdk-group-heading]]:text-xs"
    >
      {children}
    </Command.Group>
  );
}

interface ItemProps {
  icon: LucideIcon;
  label: string;
  detail?: string;
  words?: string[];
  id?: string;
  onSelect: () => void;
}

function Item({ icon: Icon, label, detail, words, id, onSelect }: ItemProps) {
  return (
    <Command.Item
      value={id ? `${label} ${id}` : label}
      {...(words && { keywords: words })}
      onSelect={onSelect}
      className="flex h-10 cursor-pointer items-center gap-3 rounded-lg px-2.5 aria-selected:bg-accent-soft aria-selected:text-accent-text"
    >
      <Icon size={16} aria-hidden className="shrink-0 text-quiet" />
      <span className="min-w-0 truncate">{label}</span>
      {detail && <span className="ml-auto min-w-0 truncate pl-4 text-quiet text-xs">{detail}</span>}
    </Command.Item>
  );
}

/** What was typed, once the typing pauses. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
