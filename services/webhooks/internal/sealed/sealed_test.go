package sealed_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/webhooks/internal/sealed"
)

func TestASecretOpensForItsEndpointOnly(t *testing.T) {
	box := func(key string, previous ...string) *sealed.Box {
		t.Helper()
		b, err := sealed.New(key, previous...)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first, second := strings.Repeat("a", 32), strings.Repeat("b", 32)
	mine, theirs := uuid.New(), uuid.New()
	old := box(first).Seal(mine, "whsec_secret")
	check := func(name string, b *sealed.Box, endpoint uuid.UUID, text []byte, want error) {
		t.Helper()
		got, err := b.Open(endpoint, text)
		if !errors.Is(err, want) || err == nil && got != "whsec_secret" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	check("its own", box(first), mine, old, nil)
	check("after a rotation", box(second, first), mine, old, nil)
	check("another endpoint's", box(first), theirs, old, sealed.ErrUnreadable)
	check("another key", box(second), mine, old, sealed.ErrUnreadable)
	check("cut", box(first), mine, old[:len(old)-1], sealed.ErrUnreadable)
	check("empty", box(first), mine, nil, sealed.ErrUnreadable)
	if bytes.Contains(old, []byte("secret")) || bytes.Equal(old, box(first).Seal(mine, "whsec_secret")) {
		t.Error("the sealed text tells something")
	}
	if _, err := sealed.New("short"); !errors.Is(err, sealed.ErrShortKey) {
		t.Errorf("a short key: %v", err)
	}
	if _, err := sealed.New(first, "short"); !errors.Is(err, sealed.ErrShortKey) {
		t.Errorf("a short previous key: %v", err)
	}
}
