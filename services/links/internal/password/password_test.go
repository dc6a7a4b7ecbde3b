package password_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/services/links/internal/password"
)

func TestPHCStrings(t *testing.T) {
	h := password.New(password.Params{Time: 1, MemoryKiB: 64, Threads: 1}, 1)
	check := func(text, phc string, want bool, wantErr error) {
		t.Helper()
		got, err := h.Matches(t.Context(), text, phc)
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
		check("password", bad, false, password.ErrBadHash)
	}
	one, err1 := h.Hash(t.Context(), "password")
	two, err2 := h.Hash(t.Context(), "password")
	if one == two || err1 != nil || err2 != nil {
		t.Errorf("two hashes have one salt: %s, %v, %v", one, err1, err2)
	}
	check("password", one, true, nil)
	check("passwore", one, false, nil)
	three, err1 := h.HashSalted(t.Context(), "password", []byte("eightor+"))
	four, err2 := h.HashSalted(t.Context(), "password", []byte("eightor+"))
	if three != four || err1 != nil || err2 != nil {
		t.Errorf("one salt gives two hashes: %s, %s, %v, %v", three, four, err1, err2)
	}
	check("password", three, true, nil)
}

func TestHashesOfOnePersonAreCheckedTogether(t *testing.T) {
	h := password.New(password.Params{Time: 1, MemoryKiB: 64, Threads: 1}, 1)
	hash := func(text, like string) string {
		t.Helper()
		phc, err := h.HashLike(t.Context(), text, like)
		if err != nil {
			t.Fatal(err)
		}
		return phc
	}
	first, err := h.Hash(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	// What is like another has its cost, whatever the hasher's own is by now.
	dearer := password.New(password.Params{Time: 2, MemoryKiB: 128, Threads: 1}, 1)
	if got, err := dearer.HashLike(t.Context(), "one", first); err != nil || got != first {
		t.Errorf("got %s, %v, want %s", got, err, first)
	}
	check := func(text string, phcs []string, want string, wantErr error) {
		t.Helper()
		got, err := h.Which(t.Context(), text, phcs)
		if (err == nil && fmt.Sprint(got) != want) || !errors.Is(err, wantErr) {
			t.Errorf("%s: got %v, %v, want %s", text, got, err, want)
		}
	}
	all := []string{first, hash("two", first), "", hash("one", first)}
	check("one", all, "[true false false true]", nil)
	check("two", all, "[false true false false]", nil)
	check("three", all, "[false false false false]", nil)
	check("one", []string{"", "x"}, "", password.ErrBadHash)
	if _, err := h.HashLike(t.Context(), "one", "x"); !errors.Is(err, password.ErrBadHash) {
		t.Errorf("got %v", err)
	}
	// No more computations than a bound, whatever is stored.
	var strangers []string
	for range 6 {
		phc, err := h.Hash(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		strangers = append(strangers, phc)
	}
	check("one", strangers, "[true true true true false false]", nil)
}
