// Package page is the HTML that visitors of an edge see: the pages that say why there is
// no redirect, the form for a password, the preview of a link, and the card that preview
// bots are given.
//
// It promises that whatever comes from a link's owner or from a visitor is escaped,
// bounded and free of characters that turn or hide text; that pages work without script
// and load nothing; that they can be read in light and dark, on a phone, by a keyboard
// and by a screen reader; and that a page without a target among its inputs shows none.
//
// It refuses to know requests, links and caches: it takes the few texts that it shows.
// All of its own texts are in texts.go.
package page

// Type is the media type of all pages.
const Type = "text/html; charset=utf-8"

// Lines are the header fields that come with every page but the form's: nothing is
// loaded, framed, sent or told to others. FormLines are those of the form. There
// form-action is left out: Chromium holds the redirects that follow a form against it,
// and what comes after the password is the target, wherever that is.
const (
	Lines     = policy + "; form-action 'none'" + rest
	FormLines = policy + rest

	policy = "Content-Security-Policy: default-src 'none'; style-src '" + styleHash + "'; base-uri 'none'; frame-ancestors 'none'"
	rest   = "\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
)

// ImageLines come with an image. A QR code as SVG is a document when it is opened alone.
const ImageLines = "Content-Security-Policy: default-src 'none'; img-src data:\r\nX-Content-Type-Options: nosniff\r\n"
