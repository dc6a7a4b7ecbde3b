import { queryOptions } from "@tanstack/react-query";
import { call } from "./client";
import type { Who } from "./types";

export const logIn = (email: string, password: string) =>
  call<Who>("POST", "/session", { body: { email, password } });
export const logOut = () => call<void>("DELETE", "/session");

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => call<Who>("GET", "/session", { signal }),
  staleTime: 60_000,
  retry: false,
});
