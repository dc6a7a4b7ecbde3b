import { Outlet, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { EditorHost } from "../editor/EditorHost";
import { useEditor } from "../editor/open";
import { texts } from "../texts";
import { Footer } from "../ui/Footer";
import { useHotkeys } from "../ui/hotkeys";
import { BottomBar, Header } from "./Header";
import { JoinDialog } from "./JoinDialog";
import { importPlace, places } from "./nav";
import { ShortcutHelp } from "./ShortcutHelp";

const loadPalette = () => import("./Palette");
const Palette = lazy(loadPalette);

/** When the palette is fetched, before anybody asks: what is typed at once must not go elsewhere. */
const IDLE_MS = 1500;

/** The frame of every page that needs a login, and the keys that work on all of them. */
export function Shell() {
  return (
    <EditorHost>
      <Frame />
    </EditorHost>
  );
}

function Frame() {
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const [joining, setJoining] = useState(false);
  const navigate = useNavigate();
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette(), IDLE_MS);
    return () => clearTimeout(timer);
  }, []);
  const editor = useEditor();
  useHotkeys({
    "mod+k": () => setPalette((open) => !open),
    "?": () => setHelp(true),
    c: () => editor.create(),
    ...Object.fromEntries(
      [...places, importPlace].map(({ to, key }) => [`g ${key}`, () => void navigate({ to })]),
    ),
  });
  return (
    <div className="flex min-h-dvh flex-col">
      <a
        href="#content"
        className="sr-only z-20 rounded-lg bg-panel px-4 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        {texts.skip}
      </a>
      <Header
        onPalette={() => setPalette(true)}
        onHelp={() => setHelp(true)}
        onJoin={() => setJoining(true)}
      />
      <main
        id="content"
        tabIndex={-1}
        className="mx-auto w-full max-w-6xl grow px-4 pt-6 pb-12 outline-none sm:px-6 sm:pt-8"
      >
        <Outlet />
      </main>
      <Footer />
      <BottomBar />
      {palette && (
        <Suspense>
          <Palette onClose={() => setPalette(false)} onHelp={() => setHelp(true)} />
        </Suspense>
      )}
      {joining && <JoinDialog onClose={() => setJoining(false)} />}
      {help && <ShortcutHelp onClose={() => setHelp(false)} />}
    </div>
  );
}
