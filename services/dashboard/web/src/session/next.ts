/**
 * Where to go after the login: a path of this app, or the start. Whatever a
 * browser could read as another host, or as code, is not a path of this app.
 */
export function safeNext(next: unknown): string {
  if (
    typeof next !== "string" ||
    !next.startsWith("/") ||
    next.startsWith("//") ||
    /[\\\p{Cc}]/u.test(next)
  ) {
    return "/";
  }
  const url = new URL(next, "http://here.invalid");
  if (url.host !== "here.invalid" || url.pathname.startsWith("/login")) {
    return "/";
  }
  return url.pathname + url.search + url.hash;
}
