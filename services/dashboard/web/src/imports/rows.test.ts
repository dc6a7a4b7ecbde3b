import { expect, it } from "vitest";
import { texts } from "../texts";
import { parseTable } from "./csv";
import { readTable } from "./rows";

const read = (text: string) => readTable(parseTable(text));

it("knows columns by many names", () => {
  const table = read("Long URL,Back-half,Tags,Color\nhttps://example.com/,sale,a|b,red");
  expect(table.columns).toEqual(["destination", "slug", "tags", null]);
  expect(table.ignored).toEqual(["Color"]);
  expect(table.rows[0]).toEqual({
    line: 2,
    input: { destination: "https://example.com/", slug: "sale", tags: ["a", "b"] },
    problem: undefined,
  });
});

it("takes a list of addresses as it is", () => {
  const table = read("https://example.com/a\nhttps://example.com/b");
  expect(table.rows.map((row) => [row.line, row.input.destination])).toEqual([
    [1, "https://example.com/a"],
    [2, "https://example.com/b"],
  ]);
});

it("says row by row what is wrong, before anything is sent", () => {
  const table = read(
    [
      "destination,slug,status_code,expires_at,max_clicks",
      "https://example.com/,one,301,2027-01-01,5",
      ",two,,,",
      "example.com,three,,,",
      "https://example.com/,four,200,,",
      "https://example.com/,five,,soon,",
      "https://example.com/,six,,,many",
      "https://example.com/,one,,,",
    ].join("\n"),
  );
  expect(table.rows.map((row) => row.problem)).toEqual([
    undefined,
    texts.imports.noDestination,
    texts.imports.noAddress,
    texts.imports.cannotRead("status_code", "200"),
    texts.imports.cannotRead("expires_at", "soon"),
    texts.imports.cannotRead("max_clicks", "many"),
    texts.imports.repeated(2),
  ]);
  expect(table.rows[0]?.input).toMatchObject({ status_code: 301, max_clicks: 5, slug: "one" });
});
