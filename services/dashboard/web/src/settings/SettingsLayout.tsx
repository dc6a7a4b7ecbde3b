import { Link, Outlet } from "@tanstack/react-router";
import { texts } from "../texts";
import { PageHead } from "../ui/PageHead";

const pages = [
  { to: "/settings/domains", label: texts.settings.domains },
  { to: "/settings/keys", label: texts.settings.keys },
  { to: "/settings/members", label: texts.settings.members },
  { to: "/settings/webhooks", label: texts.settings.webhooks },
  { to: "/settings/appearance", label: texts.settings.appearance },
  { to: "/settings/password", label: texts.settings.password },
] as const;

/** The frame of all settings. */
export function SettingsLayout() {
  return (
    <>
      <PageHead heading={texts.nav.settings} />
      <div className="grid items-start gap-6 md:grid-cols-[11rem_minmax(0,1fr)] md:gap-10">
        <nav
          aria-label={texts.nav.settings}
          className="-mx-1 flex gap-0.5 overflow-x-auto px-1 md:sticky md:top-20 md:flex-col"
        >
          {pages.map(({ to, label }) => (
            <Link
              key={to}
              to={to}
              className="shrink-0 rounded-lg px-3 py-1.5 font-medium text-quiet hover:text-text aria-[current=page]:bg-sunken aria-[current=page]:text-text"
            >
              {label}
            </Link>
          ))}
        </nav>
        <div className="min-w-0">
          <Outlet />
        </div>
      </div>
    </>
  );
}
