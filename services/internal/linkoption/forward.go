package linkoption

import "strings"

// MaxForwardSegments is how many segments a slug may have at most whose link has
// forward_path: an edge that knows no link at an address asks for so many above it.
const MaxForwardSegments = 3

// CheckForwardPath says whether a link with this slug may have forward_path.
func CheckForwardPath(slug string, forwardPath bool) []FieldError {
	var wrong problems
	if forwardPath && strings.Count(strings.Trim(slug, "/"), "/") >= MaxForwardSegments {
		wrong.addf("forward_path", CodeNotAllowed, "only a slug of at most %d segments can forward what is behind it", MaxForwardSegments)
	}
	return wrong
}
