package address

// View is what an address shows of a link. No slug ends like the second and the third.
type View uint8

// The views.
const (
	Redirect View = iota // SLUG
	Preview              // SLUG+
	QRCode               // SLUG.qr
)

const qrSuffix = ".qr"

// CutView takes the ending that asks for a view off a slug in the form look-ups use. What
// is left may be no slug.
func CutView(slug []byte) ([]byte, View) {
	n := len(slug)
	if n == 0 {
		return slug, Redirect
	}
	switch slug[n-1] {
	case '+':
		return slug[:n-1], Preview
	case 'r', 'R':
		if n >= len(qrSuffix) && slug[n-3] == '.' && slug[n-2]|0x20 == 'q' {
			return slug[:n-3], QRCode
		}
	}
	return slug, Redirect
}
