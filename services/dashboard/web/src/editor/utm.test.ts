import { expect, it } from "vitest";
import { noUtm } from "./form";
import { withUtm } from "./utm";

const utm = { ...noUtm, source: "news", medium: "e mail" };

it("adds what the target does not have, before the fragment", () => {
  expect(withUtm("https://example.com/", utm)).toBe(
    "https://example.com/?utm_source=news&utm_medium=e%20mail",
  );
  expect(withUtm("https://example.com/?a=1#top", utm)).toBe(
    "https://example.com/?a=1&utm_source=news&utm_medium=e%20mail#top",
  );
  expect(withUtm("https://example.com/?UTM_Source=x&", utm)).toBe(
    "https://example.com/?UTM_Source=x&utm_medium=e%20mail",
  );
  expect(withUtm("https://example.com/", noUtm)).toBe("https://example.com/");
});
