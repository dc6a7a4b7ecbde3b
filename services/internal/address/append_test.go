package address_test

import (
	"testing"

	"github.com/linkstream/linkstream/services/internal/address"
)

func FuzzAppendHost(f *testing.F) {
	for _, s := range []string{"", ".", "s.test", "S.TEST", "s.test.", "s.test:8080", "S.Test.:80", "[::1]:8080", "::1", "a:b:c", "É.test", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, host []byte) {
		if got, want := string(address.AppendHost(nil, host)), address.Host(string(host)); got != want {
			t.Errorf("AppendHost(%q) = %q, Host says %q", host, got, want)
		}
	})
}

func FuzzAppendSlugKey(f *testing.F) {
	for _, s := range []string{"", "/", "//", "///", "/abc", "/abc/", "/a//", "/a+b", "/caf%C3%A9", "/cafe%CC%81", "/a%2Fb", "/%", "/é", "/\xff", "abc"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, path []byte) {
		want, wantOK := address.SlugFromPath(string(path))
		got, ok := address.AppendSlugKey([]byte("x"), path)
		if ok != wantOK || (ok && string(got) != "x"+want) {
			t.Errorf("AppendSlugKey(%q) = %q, %t; SlugFromPath says %q, %t", path, got, ok, want, wantOK)
		}
	})
}

func TestPlainAddressesDoNotAllocate(t *testing.T) {
	host, path, buf := []byte("Go.Test"), []byte("/launch/now/"), make([]byte, 0, 64)
	got := testing.AllocsPerRun(100, func() {
		buf = address.AppendHost(buf[:0], host)
		buf, _ = address.AppendSlugKey(buf, path)
	})
	if got > 0 {
		t.Errorf("normalising a plain address allocates %v times", got)
	}
}
