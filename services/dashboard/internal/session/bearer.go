package session

import (
	"mime"
	"net/http"

	"github.com/linkstream/linkstream/services/internal/httpapi"
)

// Bearer wraps the API: a request that has the cookie and no Authorization of its
// own goes on with the cookie's token as its bearer. A request that changes
// something with it must come from our own pages, and bring JSON or a file of a kind
// that no form sends if it brings anything, so that no foreign form can send it.
func (h *Handler) Bearer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := tokenOf(r)
		if ok && r.Header.Get("Authorization") == "" {
			if h.foreign.Check(r) != nil {
				httpapi.Write(r.Context(), w, crossOrigin())
				return
			}
			if r.ContentLength != 0 && !isJSON(r) && !isFile(r) {
				httpapi.Write(r.Context(), w, notJSON())
				return
			}
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+token)
		}
		next.ServeHTTP(w, r)
	})
}

// isFile says whether a body is of a type that a browser sends to its own origin only,
// unless that allows it: no form can name one of them.
func isFile(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && (kind == "text/csv" || kind == "application/x-ndjson" || kind == "application/octet-stream")
}
