package unlock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/redirect/internal/unlock"
)

// Guards I64.
func TestACookieOpensOneLinkForAWhile(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	link, other := [16]byte{1, 15: 1}, [16]byte{1, 15: 2}
	key := strings.Repeat("k", 32)
	set := string(unlock.AppendCookie(nil, &link, []byte(key), now, time.Hour, true))
	value, attributes, _ := strings.Cut(set, ";")
	if attributes != " Path=/; Max-Age=3600; HttpOnly; SameSite=Lax; Secure" {
		t.Errorf("its attributes are %q", attributes)
	}
	if plain := string(unlock.AppendCookie(nil, &link, []byte(key), now, time.Hour, false)); plain != strings.TrimSuffix(set, "; Secure") {
		t.Errorf("without TLS it is %q", plain)
	}
	if want := "ls_unlock_0000000000000001="; !strings.HasPrefix(value, want) {
		t.Errorf("it is %q, want it to begin with %q", value, want)
	}
	check := func(what, cookies string, link [16]byte, key string, at time.Time, want bool) {
		t.Helper()
		if got := unlock.Opens([]byte(cookies), &link, key, at); got != want {
			t.Errorf("%s: opens %t, want %t", what, got, want)
		}
	}
	check("the cookie", value, link, key, now, true)
	check("among others", "a=b; "+value+";c=d", link, key, now, true)
	check("behind a bad one", "ls_unlock_0000000000000001=x; "+value, link, key, now, true)
	check("just in time", value, link, key, now.Add(time.Hour-time.Second), true)
	check("too late", value, link, key, now.Add(time.Hour), false)
	check("another link", value, other, key, now, false)
	check("another link's name", strings.Replace(value, "1=", "2=", 1), other, key, now, false)
	check("another password", value, link, strings.Repeat("K", 32), now, false)
	check("no password", value, link, "", now, false)
	check("none", "", link, key, now, false)
	check("another's end", strings.Replace(value, ".", "0.", 1), link, key, now, false)
	check("cut", value[:len(value)-1], link, key, now, false)
	check("longer", value+"A", link, key, now, false)
	check("no signature", value[:strings.IndexByte(value, '.')], link, key, now, false)
	check("nothing", "ls_unlock_0000000000000001=", link, key, now, false)
	check("no name", "ls_unlock_0000000000000001", link, key, now, false)
	none := string(unlock.AppendCookie(nil, &link, nil, now, time.Hour, true))
	check("signed with nothing", none, link, "", now, false)
}

func FuzzOpens(f *testing.F) {
	link, key, now := [16]byte{1}, strings.Repeat("k", 32), time.Unix(1_800_000_000, 0)
	value, _, _ := strings.Cut(string(unlock.AppendCookie(nil, &link, []byte(key), now, time.Hour, true)), ";")
	f.Add(value[:len(value)-1])
	f.Add("; ;=;")
	f.Fuzz(func(t *testing.T, cookies string) {
		if !strings.Contains(cookies, value) && unlock.Opens([]byte(cookies), &link, key, now) {
			t.Errorf("%q opens", cookies)
		}
	})
}
