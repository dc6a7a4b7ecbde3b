import { expect, it } from "vitest";
import { readReport, worstFirst } from "./reportRows";

const text = [
  "row,slug,status,code,detail,link_id",
  "2,sale,created,,,01a2",
  "3,jobs-2,renamed,,the slug jobs was taken,01a3",
  '4,taken,skipped,slug_taken,"another link has this slug, on this domain",',
  "5,'=cmd,failed,invalid,'-x is no address,",
  "",
].join("\r\n");

it("reads what became of each row", () => {
  expect(readReport(text)).toEqual([
    { row: 2, slug: "sale", status: "created", detail: "", linkId: "01a2" },
    { row: 3, slug: "jobs-2", status: "renamed", detail: "the slug jobs was taken", linkId: "01a3" },
    {
      row: 4,
      slug: "taken",
      status: "skipped",
      detail: "another link has this slug, on this domain",
      linkId: "",
    },
    { row: 5, slug: "=cmd", status: "failed", detail: "-x is no address", linkId: "" },
  ]);
});

it("reads nothing from nothing, and leaves out what it does not know", () => {
  expect(readReport("")).toEqual([]);
  expect(readReport("row,slug,status,code,detail,link_id\r\n2,a,melted,,,\r\n")).toEqual([]);
});

it("puts first what somebody has to look at", () => {
  expect(worstFirst(readReport(text)).map(({ row }) => row)).toEqual([5, 4, 3, 2]);
});
