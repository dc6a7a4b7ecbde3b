package untrusted_test

import (
	"testing"

	"github.com/linkstream/linkstream/services/internal/untrusted"
)

func TestTexts(t *testing.T) {
	check := func(in string, limit int, want string) {
		t.Helper()
		if got := untrusted.Text([]byte(in), limit); got != want {
			t.Errorf("Text(%q, %d) = %q, want %q", in, limit, got, want)
		}
	}
	check("", 10, "")
	check("plain", 10, "plain")
	check("plain", 3, "pla")
	check("\xffa\x00", 10, "\uFFFDa\uFFFD")
	check("aüb", 2, "a")
	check("ü", 1, "")
	check("\xff\xff", 3, "\uFFFD")
}
