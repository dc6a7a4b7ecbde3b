package linkcache_test

import (
	"testing"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

func change(partition int32, previous, offset int64, revision uint64, keys ...string) linkcache.Message {
	return linkcache.Message{Keys: keys, Version: 1, Revision: revision, Position: linkcache.Position{Partition: partition, Offset: offset}, Previous: previous}
}

// The bytes are what edges of other releases read.
func TestJoinedInvalidationsOnTheWire(t *testing.T) {
	check := func(want string, messages ...linkcache.Message) {
		t.Helper()
		m := linkcache.Join(messages)
		got, err := m.Encode()
		if err != nil || string(got) != want {
			t.Errorf("Encode = %s, %v\nwant     %s", got, err, want)
		}
		if _, err := linkcache.DecodeMessage(got); err != nil {
			t.Errorf("DecodeMessage(%s): %v", got, err)
		}
	}
	// One alone is what it has always been.
	check(`{"k":["a"],"v":1,"r":7,"p":{"n":2,"o":5},"q":4}`, change(2, 4, 5, 7, "a"))
	// Those that follow each other become a span for each partition; a link that moved has two keys.
	check(`{"s":[{"n":2,"q":4,"o":6,"k":["a","b","c"],"r":[7,9,9]},{"n":0,"q":-1,"o":0,"k":["d"],"r":[8]}]}`,
		change(2, 4, 5, 7, "a"), change(0, -1, 0, 8, "d"), change(2, 5, 6, 9, "b", "c"))
	// Where something may be missing in between, a span ends.
	check(`{"s":[{"n":1,"q":0,"o":1,"k":["a"],"r":[7]},{"n":1,"q":8,"o":9,"k":["b"],"r":[8]}]}`,
		change(1, 0, 1, 7, "a"), change(1, 8, 9, 8, "b"))
}

func TestSpansThatDoNotAddUpAreRefused(t *testing.T) {
	for _, text := range []string{
		`{"s":[]}`, `{"s":[{"n":1,"q":0,"o":1}]}`, `{"s":[{"k":["a"],"r":[]}]}`, `{"s":[{"k":["a"],"r":[1,2]}]}`,
		`{"s":[{"k":["a"],"r":[1]},{"k":[],"r":[]}],"h":[{"n":0,"o":1}]}`,
	} {
		if m, err := linkcache.DecodeMessage([]byte(text)); err == nil {
			t.Errorf("DecodeMessage(%s) = %+v, want an error", text, m)
		}
	}
}
