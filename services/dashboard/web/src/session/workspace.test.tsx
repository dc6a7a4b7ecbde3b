// @vitest-environment happy-dom
import { renderHook, waitFor } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import type { Who } from "../api/types";
import { currentWorkspace, useOneWorkspace } from "./workspace";

const who = (workspace_id: string): Who => ({
  email: "ada@example.com",
  workspace_id,
  workspaces: [
    { id: "a", name: "Acme", role: "owner" },
    { id: "b", name: "Side project", role: "viewer" },
  ],
});

it("leaves a page whose session went elsewhere, by what the server says", () => {
  const leave = vi.fn();
  const { rerender } = renderHook(({ at }) => useOneWorkspace(who(at), leave), { initialProps: { at: "a" } });
  rerender({ at: "a" });
  expect(leave).not.toHaveBeenCalled();
  rerender({ at: "b" });
  expect(leave).toHaveBeenCalledTimes(1);
});

it("leaves it when another tab says so, and stays where it is already", async () => {
  const leave = vi.fn();
  renderHook(() => useOneWorkspace(who("a"), leave));
  const other = new BroadcastChannel("linkstream-workspace");
  other.postMessage("a");
  other.postMessage("b");
  await waitFor(() => expect(leave).toHaveBeenCalledTimes(1));
  other.close();
});

it("knows which one is open", () => {
  expect(currentWorkspace(who("b"))?.name).toBe("Side project");
  expect(currentWorkspace(who("gone"))).toBeUndefined();
});
