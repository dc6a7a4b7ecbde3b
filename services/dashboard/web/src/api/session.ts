import { queryOptions } from "@tanstack/react-query";
import { call } from "./client";
import type { Who } from "./types";

export const logIn = (email: string, password: string) =>
  call<Who>("POST", "/session", { body: { email, password } });
export const switchWorkspace = (workspace_id: string) =>
  call<Who>("POST", "/session/workspace", { body: { workspace_id } });
export const joinWorkspaces = (password: string, new_password: string) =>
  call<Who>("POST", "/session/join", { body: { password, new_password } });
export const changePassword = (password: string, new_password: string) =>
  call<Who>("POST", "/session/password", { body: { password, new_password } });
export const logOut = () => call<void>("DELETE", "/session");

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => call<Who>("GET", "/session", { signal }),
  staleTime: 60_000,
  retry: false,
});
