import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { sessionQuery } from "../api/session";
import type { Who } from "../api/types";
import { texts } from "../texts";
import { Toasts } from "../ui/toast";
import { PasswordPage } from "./PasswordPage";

afterEach(cleanup);

const who: Who = {
  email: "ada@example.com",
  workspace_id: "a",
  workspaces: [{ id: "a", name: "Acme", role: "viewer" }],
};
const t = texts.password;
const sent: { path: string; body: unknown }[] = [];
let answer: { status: number; body: unknown };

beforeEach(() => {
  sent.length = 0;
  answer = { status: 200, body: who };
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    sent.push({ path, body: JSON.parse(String(init.body)) });
    return new Response(JSON.stringify(answer.body), { status: answer.status });
  });
  const client = new QueryClient();
  client.setQueryData(sessionQuery.queryKey, who);
  render(
    <QueryClientProvider client={client}>
      <Toasts>
        <PasswordPage />
      </Toasts>
    </QueryClientProvider>,
  );
});

const field = (label: string) => screen.getByLabelText<HTMLInputElement>(label);
const type = (label: string, value: string) => fireEvent.change(field(label), { target: { value } });
const submit = () => fireEvent.click(screen.getByRole("button", { name: t.action }));
const fill = () => {
  type(t.current, "the old one");
  type(t.fresh, "the new one");
  type(t.repeat, "the new one");
};

it("changes the password, says so, and forgets what was typed", async () => {
  expect([t.current, t.fresh, t.repeat].map((label) => field(label).autocomplete)).toEqual([
    "current-password",
    "new-password",
    "new-password",
  ]);
  fill();
  submit();
  await screen.findByText(t.changed);
  expect(sent).toEqual([
    { path: "/session/password", body: { password: "the old one", new_password: "the new one" } },
  ]);
  expect([t.current, t.fresh, t.repeat].map((label) => field(label).value)).toEqual(["", "", ""]);
});

it("sends nothing while a mistake is seen, and leads to it", async () => {
  fill();
  type(t.repeat, "another one");
  submit();
  expect(screen.getByRole("alert").textContent).toBe(t.different);
  await waitFor(() => expect(document.activeElement).toBe(field(t.repeat)));
  expect(sent).toEqual([]);
});

it("puts a wrong current password beside its field, and leads there", async () => {
  answer = {
    status: 403,
    body: {
      code: "wrong_credentials",
      detail: "No.",
      errors: [{ field: "password", code: "invalid", detail: "not yours" }],
    },
  };
  fill();
  submit();
  expect((await screen.findByRole("alert")).textContent).toBe("Not yours");
  expect(field(t.current).getAttribute("aria-invalid")).toBe("true");
  await waitFor(() => expect(document.activeElement).toBe(field(t.current)));
});

it("says what is no field's fault", async () => {
  answer = { status: 429, body: { code: "rate_limited", detail: "Too many failed logins." } };
  fill();
  submit();
  expect((await screen.findByRole("alert")).textContent).toContain("Too many failed logins.");
  expect(field(t.current).value).toBe("the old one");
});
