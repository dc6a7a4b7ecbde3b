package stream

import (
	"slices"
	"testing"
	"time"
)

func TestAPlaceIsReadAsItWasWritten(t *testing.T) {
	check := func(p position) {
		t.Helper()
		got, err := parsePosition(p.String())
		if err != nil || !got.at.Equal(p.at) || !slices.Equal(got.topics[0], p.topics[0]) || !slices.Equal(got.topics[1], p.topics[1]) {
			t.Errorf("%+v is read as %+v, %v", p, got, err)
		}
	}
	at := time.Unix(1796040000, 0)
	check(position{at: at})
	check(position{at: at, topics: [topics][]int64{{0, 1, 1 << 40}}})
	check(position{at: at, topics: [topics][]int64{{5}, {0, 0, 7}}})
	// What is in use must go on being understood: viewers come back after a release.
	if p, err := parsePosition("AcCQttgGAwABgICAgICAAQA"); err != nil || !slices.Equal(p.topics[0], []int64{0, 1, 1 << 42}) {
		t.Errorf("an id of an earlier release is %+v, %v", p, err)
	}
}

func FuzzPosition(f *testing.F) {
	f.Add("AcCQttgGAwABgICAgICAAQA")
	f.Add("AQ")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePosition(text)
		if err != nil {
			return
		}
		for _, offsets := range p.topics {
			for _, o := range offsets {
				if o < 0 {
					t.Errorf("%q has the offset %d", text, o)
				}
			}
		}
		again, err := parsePosition(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q is %+v and then %+v, %v", text, p, again, err)
		}
	})
}
