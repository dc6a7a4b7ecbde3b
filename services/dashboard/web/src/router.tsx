import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { isUnauthenticated } from "./api/problem";
import { sessionQuery } from "./api/session";
import { LinksPage } from "./links/LinksPage";
import { LoginPage } from "./session/LoginPage";
import { Shell } from "./shell/Shell";
import { texts } from "./texts";
import { Button } from "./ui/Button";
import { ErrorNotice } from "./ui/Notice";
import { parseSearch, type Search, stringifySearch } from "./url";

interface Context {
  client: QueryClient;
}

function NotFound() {
  return (
    <main className="grid min-h-dvh place-content-center gap-3 p-6 text-center">
      <h1 className="font-semibold text-xl">{texts.problems.notFound}</h1>
      <Link to="/" className="text-accent-text underline underline-offset-4">
        {texts.problems.notFoundBack}
      </Link>
    </main>
  );
}

function Broken({ error }: { error: unknown }) {
  return (
    <main className="mx-auto grid min-h-dvh max-w-md place-content-center gap-4 p-6">
      <h1 className="font-semibold text-xl">{texts.problems.crashed}</h1>
      <ErrorNotice error={error} />
      <Button onClick={() => location.reload()}>{texts.problems.reload}</Button>
    </main>
  );
}

const rootRoute = createRootRouteWithContext<Context>()({
  component: Outlet,
  notFoundComponent: NotFound,
  errorComponent: Broken,
});

const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/login",
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    typeof search.next === "string" ? { next: search.next } : {},
  component: LoginPage,
});

const insideRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "inside",
  beforeLoad: async ({ context, location }) => {
    try {
      await context.client.ensureQueryData(sessionQuery);
    } catch (error) {
      if (isUnauthenticated(error)) {
        throw redirect({ to: "/login", search: location.href === "/" ? {} : { next: location.href } });
      }
      throw error;
    }
  },
  component: Shell,
});

// Pages read their part of the address themselves; see links/search.ts and stats/view.ts.
const anySearch = (search: Record<string, unknown>) => search as Search;

const linksRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/",
  validateSearch: anySearch,
  component: LinksPage,
});

const linkRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/links/$id",
  validateSearch: anySearch,
  component: lazyRouteComponent(() => import("./linkpage/LinkPage"), "LinkPage"),
});

const analyticsRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/analytics",
  validateSearch: anySearch,
  component: lazyRouteComponent(() => import("./stats/AnalyticsPage"), "AnalyticsPage"),
});

const liveRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/live",
  component: lazyRouteComponent(() => import("./live/LivePage"), "LivePage"),
});

const importRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/import",
  validateSearch: anySearch,
  component: lazyRouteComponent(() => import("./imports/ImportPage"), "ImportPage"),
});

const settingsRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/settings",
  component: lazyRouteComponent(() => import("./settings/SettingsLayout"), "SettingsLayout"),
});

const settingsRoutes = [
  createRoute({
    getParentRoute: () => settingsRoute,
    path: "/",
    beforeLoad: () => {
      throw redirect({ to: "/settings/domains" });
    },
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: "/domains",
    component: lazyRouteComponent(() => import("./settings/DomainsPage"), "DomainsPage"),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: "/keys",
    component: lazyRouteComponent(() => import("./settings/KeysPage"), "KeysPage"),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: "/members",
    component: lazyRouteComponent(() => import("./settings/MembersPage"), "MembersPage"),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: "/webhooks",
    component: lazyRouteComponent(() => import("./settings/WebhooksPage"), "WebhooksPage"),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: "/webhooks/$id",
    component: lazyRouteComponent(() => import("./settings/WebhookPage"), "WebhookPage"),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: "/appearance",
    component: lazyRouteComponent(() => import("./settings/AppearancePage"), "AppearancePage"),
  }),
  createRoute({
    getParentRoute: () => settingsRoute,
    path: "/password",
    component: lazyRouteComponent(() => import("./settings/PasswordPage"), "PasswordPage"),
  }),
] as const;

export function createAppRouter(client: QueryClient) {
  return createRouter({
    routeTree: rootRoute.addChildren([
      loginRoute,
      insideRoute.addChildren([
        linksRoute,
        linkRoute,
        analyticsRoute,
        liveRoute,
        importRoute,
        settingsRoute.addChildren(settingsRoutes),
      ]),
    ]),
    context: { client },
    parseSearch,
    stringifySearch,
    defaultPendingMs: 300,
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
