import { expect, it } from "vitest";
import { parseTable } from "./csv";

it("reads what spreadsheets write", () => {
  expect(parseTable('a,b\r\n"x, y","say ""hi"""\r\n')).toEqual([
    ["a", "b"],
    ["x, y", 'say "hi"'],
  ]);
  expect(parseTable("\uFEFFa;b\n1;2\n\n")).toEqual([
    ["a", "b"],
    ["1", "2"],
  ]);
  expect(parseTable("a\tb\n1\t2")).toEqual([
    ["a", "b"],
    ["1", "2"],
  ]);
  expect(parseTable('a,b\n"two\nlines",2')).toEqual([
    ["a", "b"],
    ["two\nlines", "2"],
  ]);
});

it("reads one address a line", () => {
  expect(parseTable("https://example.com/a\nhttps://example.com/b")).toEqual([
    ["https://example.com/a"],
    ["https://example.com/b"],
  ]);
});

it("reads nothing from nothing", () => {
  expect(parseTable("")).toEqual([]);
  expect(parseTable(" \n\r\n")).toEqual([]);
});
