package keyring_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/services/links/internal/keyring"
)

func ring(t *testing.T, secrets ...string) *keyring.Keyring {
	t.Helper()
	k, err := keyring.New(secrets[0], secrets[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var old, current = strings.Repeat("o", keyring.MinSecret), strings.Repeat("n", keyring.MinSecret)

func TestTokensAreHashedUnderTheSecret(t *testing.T) {
	k := ring(t, current, old)
	// What is stored must never change: no key would work any more.
	const golden = "d3465e9cfef563bbb26abfd6dba1b94396c3fb006e4e590c6578225cac909c5e"
	if got := hex.EncodeToString(k.Hash("ls_key_x")); got != golden {
		t.Errorf("the hash is %s", got)
	}
	all := k.Hashes("ls_key_x")
	plain := sha256.Sum256([]byte("ls_key_x"))
	if len(all) != 3 || !bytes.Equal(all[0], k.Hash("ls_key_x")) || !bytes.Equal(all[1], ring(t, old).Hash("ls_key_x")) || !bytes.Equal(all[2], plain[:]) {
		t.Errorf("the hashes are %x", all)
	}
}

func TestOnlySecretLabelAndContextTogetherOpen(t *testing.T) {
	sealed, err := ring(t, old).Seal("label", []byte("about"), []byte("text"))
	if err != nil || bytes.Contains(sealed, []byte("text")) {
		t.Fatalf("%q, %v", sealed, err)
	}
	check := func(k *keyring.Keyring, label, about string, sealed []byte, want error) {
		t.Helper()
		text, err := k.Open(label, []byte(about), sealed)
		if !errors.Is(err, want) || (want == nil) != (string(text) == "text") {
			t.Errorf("got %q, %v, want %v", text, err, want)
		}
	}
	check(ring(t, old), "label", "about", sealed, nil)
	check(ring(t, current, old), "label", "about", sealed, nil)
	check(ring(t, current), "label", "about", sealed, keyring.ErrSealed)
	check(ring(t, old), "other", "about", sealed, keyring.ErrSealed)
	check(ring(t, old), "label", "other", sealed, keyring.ErrSealed)
	check(ring(t, old), "label", "about", sealed[:5], keyring.ErrSealed)
	check(ring(t, old), "label", "about", append([]byte{sealed[0] ^ 1}, sealed[1:]...), keyring.ErrSealed)
}

func TestASecretThatCouldBeGuessedIsRefused(t *testing.T) {
	for _, secrets := range [][]string{{"short"}, {current, ""}, {""}} {
		if _, err := keyring.New(secrets[0], secrets[1:]...); !errors.Is(err, keyring.ErrShortSecret) {
			t.Errorf("%q gives %v", secrets, err)
		}
	}
}
