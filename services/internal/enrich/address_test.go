package enrich

import (
	"bytes"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/events"
)

func TestWithoutAddress(t *testing.T) {
	check := func(value, want string) {
		t.Helper()
		before := strings.Clone(value)
		in := []byte(value)
		if got := WithoutAddress(in); string(got) != want {
			t.Errorf("%q becomes %q, want %q", value, got, want)
		}
		if string(in) != before {
			t.Errorf("%q was changed in place", before)
		}
	}
	check("", "")
	check("\xff not protobuf", "\xff not protobuf")
	check("ab\x5a\x04\xc0\x00\x02\x01cd", "ab\x5a\x04\x00\x00\x00\x00cd")
	check("\x5a\x10"+strings.Repeat("\x20", 16)+"z", "\x5a\x10"+strings.Repeat("\x00", 16)+"z")
	check("\x5a\x10\x20\x01", "\x5a\x10\x00\x00") // cut off
	check("Z\x05abcdef", "Z\x05abcdef")
	whole := events.AppendClick(nil, &events.Click{Address: []byte{192, 0, 2, 77}, UserAgent: []byte(chrome)})
	for n := range whole {
		if got := WithoutAddress(whole[:n]); bytes.Contains(got, []byte{192, 0, 2, 77}) {
			t.Errorf("cut to %d bytes it has the address still", n)
		}
	}
}
