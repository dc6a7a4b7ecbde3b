import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link, Outlet, useRouter } from "@tanstack/react-router";
import { LogOut } from "lucide-react";
import { api } from "../api/client";
import { sessionQuery } from "../api/queries";
import { texts } from "../texts";
import { IconButton } from "../ui/Button";
import { Footer } from "../ui/Footer";
import { Logo } from "../ui/Logo";
import { ErrorNotice } from "../ui/Notice";
import { ThemeToggle } from "../ui/ThemeToggle";

/** The frame of every page that needs a login. */
export function Shell() {
  const { data: who } = useSuspenseQuery(sessionQuery);
  const router = useRouter();
  const client = useQueryClient();
  const logOut = useMutation({
    mutationFn: api.logOut,
    onSuccess: async () => {
      await router.navigate({ to: "/login" });
      client.clear();
    },
  });
  return (
    <div className="flex min-h-dvh flex-col">
      <a
        href="#content"
        className="sr-only z-20 rounded-lg bg-panel px-4 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        {texts.skip}
      </a>
      <header className="sticky top-0 z-10 border-line border-b bg-panel/90 backdrop-blur">
        <div className="mx-auto flex h-14 max-w-5xl items-center gap-6 px-4 sm:px-6">
          <Link to="/" className="rounded-md">
            <Logo />
          </Link>
          <nav className="flex items-center gap-1 text-sm max-sm:hidden">
            <Link
              to="/"
              className="rounded-lg px-3 py-1.5 font-medium text-quiet hover:text-text aria-[current=page]:bg-sunken aria-[current=page]:text-text"
            >
              {texts.nav.links}
            </Link>
            <a href="/docs" className="rounded-lg px-3 py-1.5 font-medium text-quiet hover:text-text">
              {texts.nav.apiDocs}
            </a>
          </nav>
          <div className="ml-auto flex min-w-0 items-center gap-1">
            <span className="truncate pr-2 text-quiet text-sm max-sm:hidden">{who.email}</span>
            <ThemeToggle />
            <IconButton
              label={texts.session.logOut}
              onClick={() => logOut.mutate()}
              disabled={logOut.isPending}
            >
              <LogOut size={18} aria-hidden />
            </IconButton>
          </div>
        </div>
      </header>
      <main
        id="content"
        tabIndex={-1}
        className="mx-auto w-full max-w-5xl grow px-4 pt-6 pb-12 outline-none sm:px-6 sm:pt-8"
      >
        {logOut.isError && (
          <div className="mb-6">
            <ErrorNotice text={texts.session.logOutFailed} error={logOut.error} />
          </div>
        )}
        <Outlet />
      </main>
      <Footer />
    </div>
  );
}
