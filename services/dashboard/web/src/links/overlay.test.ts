import { expect, it } from "vitest";
import type { Overlay } from "./overlay";
import type { Row } from "./row";
import { laidOver } from "./useRows";

const row = (id: string, archived = false) => ({ id, archived }) as Row;
const ids = (rows: Row[], overlay: Overlay, archived = false) =>
  laidOver(rows, overlay, archived).map((r) => r.id);

it("shows at once what was done, and takes it back", () => {
  const rows = [row("a"), row("b"), row("c", true)];
  expect(ids(rows, new Map())).toEqual(["a", "b"]);
  expect(ids(rows, new Map([["a", undefined]]))).toEqual(["b"]);
  expect(ids(rows, new Map([["b", { archived: true }]]))).toEqual(["a"]);
  expect(ids(rows, new Map([["b", { archived: true }]]), true)).toEqual(["b", "c"]);
  expect(ids(rows, new Map([["c", { archived: false }]]))).toEqual(["a", "b", "c"]);
});
