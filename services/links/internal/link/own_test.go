package link_test

import (
	"errors"
	"testing"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

// An edge that is asked by a local name is one of our own domains; what else runs on the
// machine is not.
func TestLocalNamesWithAnEdgesPortAreOwn(t *testing.T) {
	rules := link.Rules{LocalNames: []string{"localhost", "127.0.0.1", "::1"}, LocalPorts: []int{8080, 8180, 80}}
	check := func(target string, own bool) {
		t.Helper()
		for _, change := range []link.Change{
			{Destination: link.Some(target)},
			{Destination: link.Some("https://e.test"), FallbackURL: link.Some(target)},
		} {
			_, err := rules.CheckNew(change)
			var wrong link.FieldErrors
			if got := errors.As(err, &wrong) && wrong[0].Code == link.CodeOwnDomain; got != own || !own && err != nil {
				t.Errorf("%s: %v; want own %t", target, err, own)
			}
		}
	}
	check("http://127.0.0.1:8080/a", true)
	check("https://127.0.0.1:8180", true)
	check("http://LOCALHOST:8080/", true)
	check("http://[::1]:8180/a?b", true)
	check("http://127.0.0.1/a", true) // port 80
	check("https://127.0.0.1/a", false)
	check("http://127.0.0.1:9000/a", false)
	check("http://[::1]:9000/a", false)
	check("http://127.0.0.2:8080/a", false)
	check("http://e.test:8080/a", false)
}
