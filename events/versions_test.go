package events_test

import (
	"testing"

	"github.com/linkstream/linkstream/events"
)

func TestMemoryForgetsTheLinkThatWasUsedLongestAgo(t *testing.T) {
	m := events.NewMemoryVersions(2)
	last := func(n int, want uint64) {
		t.Helper()
		if got, err := m.Last(t.Context(), id(n)); got != want || err != nil {
			t.Errorf("link %d is at %d, %v; want %d", n, got, err, want)
		}
	}
	handled := func(n int, revision uint64) {
		t.Helper()
		if err := m.Handled(t.Context(), id(n), revision); err != nil {
			t.Error(err)
		}
	}
	handled(1, 5)
	handled(2, 6)
	handled(1, 4) // older: changes nothing
	last(1, 5)
	handled(3, 7)
	last(2, 0)
	last(1, 5)
	last(3, 7)
}

func TestIDsAreReadAsTheyAreWritten(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		got, err := events.ParseID(text)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q is %v, %v; want %q", text, got, err, want)
		}
	}
	check("019acf12-dc00-7000-8000-000000000001", "019acf12-dc00-7000-8000-000000000001")
	check("019ACF12-DC00-7000-8000-000000000001", "019acf12-dc00-7000-8000-000000000001")
	check("019acf12dc0070008000000000000001", "")
	check("019acf12-dc00-7000-8000-00000000000", "")
	check("019acf1-2dc00-7000-8000-000000000001", "")
	check("", "")
}
