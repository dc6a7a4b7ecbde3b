import { expect, it } from "vitest";
import type { Link } from "../api/types";
import { emptyForm, formOf, inverse, toEdit, toInput } from "./form";

const zone = "Europe/Berlin";
const link: Link = {
  id: "1",
  domain: "go.test",
  slug: "sale",
  short_url: "https://go.test/sale",
  destination: "https://example.com/",
  title: "Sale",
  tags: ["mail"],
  notes: "",
  status_code: 302,
  starts_at: null,
  expires_at: "2026-12-31T23:00:30Z",
  fallback_url: null,
  archived: false,
  disabled: false,
  max_clicks: null,
  has_password: true,
  forward_query: "off",
  forward_path: false,
  utm: { source: "news" },
  rules: [{ destination: "https://example.com/fr", conditions: [{ type: "country", values: ["FR"] }] }],
  variants: [
    { destination: "https://example.com/a", weight: 70, name: "A" },
    { destination: "https://example.com/b", weight: 30 },
  ],
  variants_end_at: null,
  variants_winner: null,
  preview: null,
  version: 3,
  created_at: "2026-11-01T00:00:00Z",
  updated_at: "2026-11-01T00:00:00Z",
};

it("sends no more than what was filled in", () => {
  expect(toInput(emptyForm(zone, " https://example.com "))).toEqual({ destination: "https://example.com" });
  const form = { ...emptyForm(zone, "https://example.com"), maxClicks: "5", startsAt: "2026-12-01T09:00" };
  expect(toInput({ ...form, password: "open", utm: { ...form.utm, medium: " mail " } })).toEqual({
    destination: "https://example.com",
    max_clicks: 5,
    starts_at: "2026-12-01T08:00:00.000Z",
    utm: { medium: "mail" },
    password: "open",
  });
});

it("changes nothing that was not touched", () => {
  expect(toEdit(formOf(link, zone), link)).toEqual({});
});

it("patches what was touched, and null takes away", () => {
  const form = formOf(link, zone);
  expect(toEdit({ ...form, title: "", expiresAt: "", password: "" }, link)).toEqual({
    title: "",
    expires_at: null,
    password: null,
  });
  expect(toEdit({ ...form, utm: { ...form.utm, source: "" }, rules: [] }, link)).toEqual({
    utm: null,
    rules: [],
  });
});

it("keeps the winner by its place, whatever is moved", () => {
  const form = formOf(link, zone);
  const [a, b] = form.variants;
  const edit = toEdit({ ...form, variants: [b, a].flatMap((v) => v ?? []), winner: a?.key ?? 0 }, link);
  expect(edit).toMatchObject({ variants_winner: 2, variants: [{ weight: 30 }, { weight: 70, name: "A" }] });
});

it("drops from a condition what its type does not have", () => {
  const form = formOf(link, zone);
  const rule = { key: 1, destination: "https://example.com/x" };
  const conditions = [
    { key: 2, type: "time" as const, values: ["FR"], from: "09:00", to: "17:00", zone, weekdays: [] },
    { key: 3, type: "query" as const, values: [" a=b ", ""], zone },
  ];
  expect(toEdit({ ...form, rules: [{ ...rule, conditions }] }, link).rules).toEqual([
    {
      destination: "https://example.com/x",
      conditions: [
        { type: "time", zone, from: "09:00", to: "17:00" },
        { type: "query", values: ["a=b"] },
      ],
    },
  ]);
});

it("takes an edit back, unless it was a password", () => {
  expect(inverse({ title: "New", expires_at: null }, link)).toEqual({
    title: "Sale",
    expires_at: "2026-12-31T23:00:30Z",
  });
  expect(inverse({ password: "x" }, link)).toBeNull();
});
