import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { isUnauthenticated, Problem } from "./api/problem";
import { createAppRouter } from "./router";
import "./styles.css";
import { followSystemTheme } from "./ui/theme";
import { Toasts } from "./ui/toast";

const RETRIES = 2;

/** A session that ended in the middle of things leads to the login, and from there back. */
function onError(error: unknown) {
  if (isUnauthenticated(error) && router.state.location.pathname !== "/login") {
    const next = router.state.location.href;
    client.removeQueries({ queryKey: ["session"] });
    void router.navigate({ to: "/login", search: { next } });
  }
}

const client = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // An answer that says no will say no again; only trouble passes.
      retry: (failures, error) =>
        failures < RETRIES && !(error instanceof Problem && error.status >= 400 && error.status < 500),
    },
  },
});
const router = createAppRouter(client);

followSystemTheme();

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <Toasts>
          <RouterProvider router={router} />
        </Toasts>
      </QueryClientProvider>
    </StrictMode>,
  );
}
