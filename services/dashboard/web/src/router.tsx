import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Link,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { isUnauthenticated } from "./api/problem";
import { sessionQuery } from "./api/queries";
import { LinksPage } from "./links/LinksPage";
import { readSearch } from "./links/search";
import { LoginPage } from "./session/LoginPage";
import { Shell } from "./session/Shell";
import { texts } from "./texts";
import { Button } from "./ui/Button";
import { ErrorNotice } from "./ui/Notice";

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

const linksRoute = createRoute({
  getParentRoute: () => insideRoute,
  path: "/",
  validateSearch: readSearch,
  component: LinksPage,
});

export function createAppRouter(client: QueryClient) {
  return createRouter({
    routeTree: rootRoute.addChildren([loginRoute, insideRoute.addChildren([linksRoute])]),
    context: { client },
    defaultPendingMs: 300,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
