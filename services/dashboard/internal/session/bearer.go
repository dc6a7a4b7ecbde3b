package session

import (
	"net/http"

	"github.com/linkstream/linkstream/services/internal/httpapi"
)

// Bearer wraps the API: a request that has the cookie and no Authorization of its
// own goes on with the cookie's token as its bearer. A request that changes
// something with it must come from our own pages, and bring JSON if it brings
// anything, so that no foreign form can send it.
func (h *Handler) Bearer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := tokenOf(r)
		if ok && r.Header.Get("Authorization") == "" {
			if h.foreign.Check(r) != nil {
				httpapi.Write(r.Context(), w, crossOrigin())
				return
			}
			if r.ContentLength != 0 && !isJSON(r) {
				httpapi.Write(r.Context(), w, notJSON())
				return
			}
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+token)
		}
		next.ServeHTTP(w, r)
	})
}
