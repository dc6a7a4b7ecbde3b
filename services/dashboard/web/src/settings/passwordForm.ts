import { texts } from "../texts";

/** What is typed into the form that changes a password. */
export interface PasswordForm {
  current: string;
  fresh: string;
  repeat: string;
}

export type PasswordErrors = Partial<Record<keyof PasswordForm, string>>;

export const emptyPasswordForm: PasswordForm = { current: "", fresh: "", repeat: "" };

// The server's bounds, which are of bytes.
const MIN_BYTES = 8;
const MAX_BYTES = 1024;

/** What is wrong that can be seen without asking the server. */
export function checkPasswordForm({ current, fresh, repeat }: PasswordForm): PasswordErrors {
  const t = texts.password;
  const errors: PasswordErrors = {};
  if (!current) {
    errors.current = t.currentMissing;
  }
  const bytes = new TextEncoder().encode(fresh).length;
  if (!fresh) {
    errors.fresh = t.freshMissing;
  } else if (bytes < MIN_BYTES) {
    errors.fresh = t.tooShort;
  } else if (bytes > MAX_BYTES) {
    errors.fresh = t.tooLong;
  } else if (fresh === current) {
    errors.fresh = t.same;
  }
  // With the new one wrong it will be typed again, and so will this.
  if (!errors.fresh && repeat !== fresh) {
    errors.repeat = repeat ? t.different : t.repeatMissing;
  }
  return errors;
}

/** What the server has against the fields, by their names here. */
export function passwordErrors(byField: Record<string, string>): PasswordErrors {
  const { password, new_password } = byField;
  return { ...(password && { current: password }), ...(new_password && { fresh: new_password }) };
}
