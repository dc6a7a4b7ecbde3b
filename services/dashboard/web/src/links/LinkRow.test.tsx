import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import type { Link } from "../api/types";
import { texts } from "../texts";
import { LinkRow } from "./LinkRow";

afterEach(cleanup);

const link: Link = {
  id: "1",
  domain: "go.test",
  slug: "launch",
  short_url: "https://go.test/launch",
  destination: "https://example.com/<b>page</b>",
  title: "<img src=x onerror=alert(1)>",
  tags: [],
  version: 1,
  created_at: "2026-11-30T10:00:00Z",
  updated_at: "2026-11-30T10:00:00Z",
};

function show(clicks: number | null | undefined) {
  return render(
    <ul>
      <LinkRow link={link} clicks={clicks} period="7d" />
    </ul>,
  );
}

it("shows what visitors and owners typed as text", () => {
  const { container } = show(3);
  expect(container.querySelector("img, b")).toBeNull();
  expect(screen.getByText("<img src=x onerror=alert(1)>")).toBeTruthy();
  expect(screen.getByText("example.com/<b>page</b>")).toBeTruthy();
});

it("links to the short address and offers to copy it", () => {
  show(3);
  const anchor = screen.getByRole("link", { name: "go.test/launch" });
  expect(anchor.getAttribute("href")).toBe("https://go.test/launch");
  expect(anchor.getAttribute("rel")).toContain("noreferrer");
  expect(screen.getByRole("button", { name: texts.links.copyUrl("https://go.test/launch") })).toBeTruthy();
});

it("tells one click, no clicks and an unknown number apart", () => {
  show(1);
  expect(screen.getByText("1 click in the last 7 days")).toBeTruthy();
  cleanup();
  show(0);
  expect(screen.getByText("0 clicks in the last 7 days")).toBeTruthy();
  cleanup();
  show(null);
  expect(screen.getByText(texts.links.clicksUnknown)).toBeTruthy();
  cleanup();
  show(undefined);
  expect(screen.queryByText(/click/)).toBeNull();
});
