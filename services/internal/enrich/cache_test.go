package enrich

import (
	"testing"
	"time"
)

func TestCachesAreBounded(t *testing.T) {
	read := 0
	c := newCache(100, func(key []byte) string { read++; return string(key) })
	for i := range 1000 {
		key := []byte(time.Duration(i).String())
		if got := c.get(key); got != string(key) {
			t.Fatalf("%s is %s", key, got)
		}
	}
	if n := len(c.recent) + len(c.old); n > 200 {
		t.Errorf("%d keys remembered, want at most 200", n)
	}
	before := read
	c.get([]byte(time.Duration(999).String()))
	if read != before {
		t.Error("a recent key is read again")
	}
}
