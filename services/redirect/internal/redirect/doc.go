// Package redirect answers visitors.
//
// It promises that a live link's target goes into Location byte for byte as its
// owner stored it, that nothing a visitor sends changes it, that an answer never
// waits for a click to be counted, and that "unknown" is only said when somebody
// who knows was asked; otherwise the answer is 503 with Retry-After. A record with
// flags that this release does not know is answered with 503 too: it asks for
// something (a password, a rule) that serving it as a plain link would skip, and
// an edge of the newer release can serve it.
//
// A link that is only looked at (its preview, its QR code) is neither a click nor a
// redirect, and the mark of a scan is gone before a query is looked at.
//
// It refuses to look up what can be no link: robots.txt, the icon, the root, and
// paths and hosts that are no address.
package redirect
