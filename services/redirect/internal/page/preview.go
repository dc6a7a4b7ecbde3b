package page

import (
	"time"

	"github.com/linkstream/linkstream/services/internal/address"
)

// Preview is what is shown of a link before it is followed.
type Preview struct {
	// Host and Slug are the link's address, in the forms that look-ups use.
	Host, Slug string
	// Title is its owner's; it may be empty.
	Title string
	// Destination is where it leads, of which the host is shown. It is empty when a
	// password guards it, and so is Title then.
	Destination string
	// Created is when the link was made.
	Created time.Time
	// Varies says that it leads elsewhere for some, or will.
	Varies bool
}

// AppendPreview appends the page that a link's address with a + behind it shows. To
// continue is to open the link itself: that is the click, and what the link asks for
// (its time, its limit, its password) is asked then.
func AppendPreview(dst []byte, p *Preview) []byte {
	short := display(p.Host) + "/" + p.Slug
	icon := iconLink
	if p.Destination == "" {
		icon = iconLock
	}
	dst = open(dst, previewTitle+": "+short, noIndex, icon)
	if p.Destination == "" {
		dst = appendElement(dst, "p", short, maxAddress)
		dst = appendHeading(dst, previewProtected)
		dst = appendParagraph(dst, "", previewHidden)
	} else {
		target := targetHost(p.Destination)
		dst = append(dst, "<p><bdi>"...)
		dst = appendText(dst, short, maxAddress)
		dst = append(dst, "</bdi> "+previewLead+"</p>\n"...)
		shown := display(target)
		dst = append(dst, `<h1 dir="auto">`...)
		dst = append(appendHost(dst, shown), "</h1>\n"...)
		if shown != target {
			dst = append(dst, "<p>"...)
			dst = append(appendHost(dst, target), "</p>\n"...)
		}
		dst = append(dst, "<dl>\n"...)
		if p.Title != "" {
			dst = append(dst, "<dt>"+previewNamed+"</dt>"...)
			dst = appendElement(dst, "dd", p.Title, maxTitle)
		}
		dst = append(dst, "<dt>"+previewCreated+"</dt><dd><time datetime=\""...)
		created := p.Created.UTC()
		dst = created.AppendFormat(dst, time.DateOnly)
		dst = append(dst, "\">"...)
		dst = created.AppendFormat(dst, dateLayout)
		dst = append(dst, "</time></dd>\n</dl>\n"...)
		if p.Varies {
			dst = appendParagraph(dst, "note", previewVaries)
		}
	}
	dst = append(dst, `<a class="go" rel="nofollow" href="`...)
	dst = appendText(dst, address.Path(p.Slug), maxHref)
	dst = append(dst, "\">"+previewContinue+"</a>\n"...)
	return append(dst, end...)
}

// maxHref holds any URL that a link can have: one that is cut would lead elsewhere.
const maxHref = 1 << 14
