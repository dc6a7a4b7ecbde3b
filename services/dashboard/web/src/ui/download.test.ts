import { expect, it } from "vitest";
import { csvOf } from "./download";

it("writes what every spreadsheet reads", () => {
  expect(
    csvOf([
      ["a", 1],
      ['say "hi", you', "line\nbreak"],
    ]),
  ).toBe('a,1\r\n"say ""hi"", you","line\nbreak"\r\n');
});

it("lets no visitor's text become a formula", () => {
  expect(csvOf([["=1+1", "+1", "-1", "@x", "\tx", -1]])).toBe("'=1+1,'+1,'-1,'@x,'\tx,-1\r\n");
});
