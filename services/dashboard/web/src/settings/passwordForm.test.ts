import { expect, it } from "vitest";
import { texts } from "../texts";
import { checkPasswordForm, passwordErrors } from "./passwordForm";

const t = texts.password;
const check = (current: string, fresh: string, repeat = fresh) =>
  checkPasswordForm({ current, fresh, repeat });

it("says what is wrong, of each field", () => {
  expect(check("", "")).toEqual({ current: t.currentMissing, fresh: t.freshMissing });
  expect(check("the old one", "seven b")).toEqual({ fresh: t.tooShort });
  expect(check("the old one", "the old one")).toEqual({ fresh: t.same });
  expect(check("the old one", "the new one", "the new on")).toEqual({ repeat: t.different });
  expect(check("the old one", "the new one", "")).toEqual({ repeat: t.repeatMissing });
  expect(check("", "the new one", "another")).toEqual({ current: t.currentMissing, repeat: t.different });
  expect(check("the old one", "the new one")).toEqual({});
  // A password that was set before the bounds may be replaced.
  expect(check("old", "the new one")).toEqual({});
});

it("counts bytes, as the server does", () => {
  expect(check("x", "€€a")).toEqual({ fresh: t.tooShort });
  expect(check("x", "€€ab")).toEqual({});
  expect(check("x", "x".repeat(1024))).toEqual({});
  expect(check("x", "x".repeat(1025))).toEqual({ fresh: t.tooLong });
  expect(check("x", "€".repeat(342))).toEqual({ fresh: t.tooLong });
});

it("finds the field that the server means", () => {
  expect(passwordErrors({ password: "No.", new_password: "Too short." })).toEqual({
    current: "No.",
    fresh: "Too short.",
  });
  expect(passwordErrors({ password: "No." })).toEqual({ current: "No." });
  expect(passwordErrors({})).toEqual({});
});
