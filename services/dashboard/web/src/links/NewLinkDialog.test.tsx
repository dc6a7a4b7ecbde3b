import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { texts } from "../texts";
import { NewLinkDialog } from "./NewLinkDialog";

afterEach(cleanup);

function setUp(status: number, answer: unknown) {
  const fetch = vi.fn(
    async (_path: string, _init: RequestInit) => new Response(JSON.stringify(answer), { status }),
  );
  vi.stubGlobal("fetch", fetch);
  const onCreated = vi.fn();
  const onClose = vi.fn();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <NewLinkDialog onCreated={onCreated} onClose={onClose} />
    </QueryClientProvider>,
  );
  return { fetch, onCreated, onClose };
}

const field = (label: string) => screen.getByLabelText<HTMLInputElement>(new RegExp(`^${label}`));
const type = (label: string, value: string) => fireEvent.change(field(label), { target: { value } });
const submit = () => fireEvent.click(screen.getByText(texts.form.submit));
/** What a screen reader says below the field. */
const described = (label: string) =>
  document.getElementById(field(label).getAttribute("aria-describedby") ?? "")?.textContent;

describe("the form of a new link", () => {
  it("does not bother the API without a destination", () => {
    const { fetch } = setUp(201, {});
    submit();
    expect(described(texts.form.destination)).toBe(texts.form.destinationMissing);
    expect(field(texts.form.destination).getAttribute("aria-invalid")).toBe("true");
    type(texts.form.destination, "example.com/page");
    submit();
    expect(described(texts.form.destination)).toBe(texts.form.destinationInvalid);
    expect(fetch).not.toHaveBeenCalled();
  });

  it("leaves out what was left empty", async () => {
    const link = { id: "1", short_url: "http://go.test/x" };
    const { fetch, onCreated } = setUp(201, link);
    type(texts.form.destination, "  https://example.com/  ");
    type(texts.form.title, "Launch");
    submit();
    await waitFor(() => expect(onCreated).toHaveBeenCalledWith(link));
    expect(JSON.parse(String(fetch.mock.calls[0]?.[1].body))).toEqual({
      destination: "https://example.com/",
      title: "Launch",
    });
  });

  it("shows what the API says beside the field it is about", async () => {
    const errors = [{ field: "destination", code: "own_domain", detail: "points back at us" }];
    const { onCreated } = setUp(422, { status: 422, code: "validation", errors });
    type(texts.form.destination, "https://go.test/loop");
    submit();
    await waitFor(() => expect(described(texts.form.destination)).toBe("Points back at us"));
    type(texts.form.destination, "https://example.com/");
    expect(described(texts.form.destination)).toBe(texts.form.destinationHint);
    expect(onCreated).not.toHaveBeenCalled();
  });

  it("shows a conflict beside the slug", async () => {
    setUp(409, { status: 409, code: "slug_taken", detail: "This slug is taken." });
    type(texts.form.destination, "https://example.com/");
    type(texts.form.slug, "launch");
    submit();
    await waitFor(() => expect(described(texts.form.slug)).toBe("This slug is taken."));
  });

  it("shows what is about no field as a notice", async () => {
    setUp(503, { status: 503, code: "unavailable", detail: "Not now.", request_id: "r9" });
    type(texts.form.destination, "https://example.com/");
    submit();
    const notice = await screen.findByRole("alert");
    expect(notice.textContent).toContain("Not now.");
    expect(notice.textContent).toContain("r9");
  });
});
