import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { texts } from "../texts";
import { EditorForm } from "./EditorForm";
import { emptyForm } from "./form";

afterEach(cleanup);

const sent: { method: string; path: string; body: unknown }[] = [];
let answer: { status: number; body: unknown };

beforeEach(() => {
  sent.length = 0;
  answer = { status: 201, body: { id: "1", slug: "abc", short_url: "https://go.test/abc", tags: [] } };
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    if (init.method === "GET") {
      return new Response(JSON.stringify({ data: [], next_cursor: null }));
    }
    sent.push({ method: init.method ?? "", path, body: JSON.parse(String(init.body)) });
    return new Response(JSON.stringify(answer.body), { status: answer.status });
  });
});

function show(onClose = vi.fn()) {
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <EditorForm initial={emptyForm("Europe/Berlin")} onClose={onClose} />
    </QueryClientProvider>,
  );
  return onClose;
}

const destination = () => screen.getAllByLabelText(texts.form.destination)[0] as HTMLInputElement;
const submit = () => fireEvent.click(screen.getByRole("button", { name: texts.form.submit }));

it("sends what was filled in, and closes", async () => {
  const onClose = show();
  fireEvent.change(destination(), { target: { value: "https://example.com/" } });
  fireEvent.change(screen.getByLabelText(texts.limits.maxClicks), { target: { value: "7" } });
  submit();
  await waitFor(() => expect(onClose).toHaveBeenCalled());
  expect(sent).toEqual([
    { method: "POST", path: "/v1/links", body: { destination: "https://example.com/", max_clicks: 7 } },
  ]);
});

it("sends nothing while a mistake is seen", () => {
  show();
  fireEvent.change(destination(), { target: { value: "example.com" } });
  submit();
  expect(screen.getByText(texts.form.destinationInvalid)).toBeTruthy();
  expect(destination().getAttribute("aria-invalid")).toBe("true");
  expect(sent).toEqual([]);
});

it("puts what the API has against a field beside the field, and opens its group", async () => {
  show();
  fireEvent.change(destination(), { target: { value: "https://example.com/" } });
  fireEvent.click(screen.getByText(texts.rules.add));
  answer = {
    status: 422,
    body: {
      status: 422,
      code: "validation",
      errors: [
        { field: "rules[0].conditions[0].values", code: "required", detail: "the condition needs a value" },
      ],
    },
  };
  submit();
  const message = await screen.findByText("The condition needs a value");
  expect(message.closest("details")?.open).toBe(true);
});

it("gives a conflict to the slug, the only one that can conflict", async () => {
  show();
  fireEvent.change(destination(), { target: { value: "https://example.com/" } });
  answer = { status: 409, body: { status: 409, code: "slug_taken", detail: "it is taken" } };
  submit();
  await screen.findByText("It is taken");
  expect(screen.getByLabelText(texts.form.slug).getAttribute("aria-invalid")).toBe("true");
});
