package account

import (
	"errors"
	"strings"
	"testing"
)

func TestPHCStrings(t *testing.T) {
	h := newHasher(Params{Time: 1, MemoryKiB: 64, Threads: 1}, 1)
	check := func(password, phc string, want bool, wantErr error) {
		t.Helper()
		got, err := h.matches(t.Context(), password, phc)
		if got != want || !errors.Is(err, wantErr) {
			t.Errorf("%s: got %v, %v", phc, got, err)
		}
	}
	// The reference implementation's own test vector.
	const reference = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	check("password", reference, true, nil)
	check("Password", reference, false, nil)
	for _, bad := range []string{
		"", "x", "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
		strings.Replace(reference, "m=256", "m=99999999", 1), strings.Replace(reference, "t=2", "t=0", 1), strings.Replace(reference, "p=1", "p=0", 1),
		strings.Replace(reference, "v=19", "v=16", 1), strings.Replace(reference, "nf65", "!!!!", 1),
	} {
		check("password", bad, false, errBadHash)
	}
	one, err1 := h.hash(t.Context(), "password")
	two, err2 := h.hash(t.Context(), "password")
	if one == two || err1 != nil || err2 != nil {
		t.Errorf("two hashes have one salt: %s, %v, %v", one, err1, err2)
	}
	check("password", one, true, nil)
	check("passwore", one, false, nil)
}
