import { Link } from "@tanstack/react-router";
import { Plus, Search } from "lucide-react";
import { useEditor } from "../editor/open";
import { texts } from "../texts";
import { Button, IconButton } from "../ui/Button";
import { Kbd } from "../ui/Kbd";
import { Logo } from "../ui/Logo";
import { AccountMenu } from "./AccountMenu";
import { places } from "./nav";
import { WorkspaceSwitch } from "./WorkspaceSwitch";

/** The bar at the top: where one is, and what works everywhere. */
export function Header({ onPalette, onHelp, onJoin }: Record<"onPalette" | "onHelp" | "onJoin", () => void>) {
  const editor = useEditor();
  return (
    <header className="sticky top-0 z-10 border-line border-b bg-panel">
      <div className="mx-auto flex h-14 max-w-6xl items-center gap-5 px-4 sm:px-6">
        <div className="flex min-w-0 items-center gap-1.5">
          <Link to="/" aria-label={texts.product} className="shrink-0 rounded-md">
            <Logo tight />
          </Link>
          <span aria-hidden className="text-line-strong text-lg max-sm:hidden">
            /
          </span>
          <WorkspaceSwitch onJoin={onJoin} />
        </div>
        <nav aria-label={texts.nav.label} className="flex items-center gap-0.5 max-md:hidden">
          {places.map(({ to, label }) => (
            <Link
              key={to}
              to={to}
              activeOptions={{ exact: to === "/", includeSearch: false }}
              className="rounded-lg px-3 py-1.5 font-medium text-quiet transition-colors hover:text-text aria-[current=page]:bg-sunken aria-[current=page]:text-text"
            >
              {label}
            </Link>
          ))}
        </nav>
        <div className="ml-auto flex min-w-0 items-center gap-2">
          <button
            type="button"
            onClick={onPalette}
            className="flex h-9 w-60 items-center gap-2 rounded-lg border border-line-strong bg-ground px-3 text-quiet transition-colors hover:border-quiet max-lg:hidden"
          >
            <Search size={15} aria-hidden />
            <span className="min-w-0 grow truncate text-left">{texts.palette.open}</span>
            <Kbd keys={["mod", "K"]} />
          </button>
          <span className="lg:hidden">
            <IconButton label={texts.palette.open} onClick={onPalette}>
              <Search size={18} aria-hidden />
            </IconButton>
          </span>
          <span className="max-sm:hidden">
            <Button kind="primary" onClick={() => editor.create()}>
              <Plus size={16} aria-hidden />
              {texts.links.create}
            </Button>
          </span>
          <AccountMenu onHelp={onHelp} />
        </div>
      </div>
    </header>
  );
}

/** The same places, under the thumb. */
export function BottomBar() {
  const editor = useEditor();
  const item =
    "flex h-14 flex-1 flex-col items-center justify-center gap-0.5 text-quiet text-xs aria-[current=page]:text-accent-text";
  return (
    <>
      <div aria-hidden className="h-14 md:hidden" />
      <nav
        aria-label={texts.nav.label}
        className="fixed inset-x-0 bottom-0 z-10 flex border-line border-t bg-panel pb-[env(safe-area-inset-bottom)] md:hidden"
      >
        {places.slice(0, 2).map((place) => (
          <BarLink key={place.to} place={place} className={item} />
        ))}
        <button type="button" onClick={() => editor.create()} className={item}>
          <span className="grid size-7 place-content-center rounded-full bg-action text-white">
            <Plus size={17} aria-hidden />
          </span>
          {texts.nav.create}
        </button>
        {places.slice(2).map((place) => (
          <BarLink key={place.to} place={place} className={item} />
        ))}
      </nav>
    </>
  );
}

function BarLink({ place, className }: { place: (typeof places)[number]; className: string }) {
  const { to, label, icon: Icon } = place;
  return (
    <Link to={to} activeOptions={{ exact: to === "/", includeSearch: false }} className={className}>
      <Icon size={19} aria-hidden />
      {label}
    </Link>
  );
}
