//go:build !race

package option_test

import "testing"

// A decision allocates nothing, whatever it looks at.
//
// Guards I61.
func TestADecisionAllocatesNothing(t *testing.T) {
	w := newWorld(t)
	p, visitor, link := w.tenRules(t), w.visitor(busy), [16]byte{1}
	if got := testing.AllocsPerRun(500, func() {
		v := *visitor
		if n, _ := p.Rule(&v); n != 0 {
			t.Errorf("rule %d holds", n)
		}
		p.Variant(&v, &link)
	}); got > 0 {
		t.Errorf("a decision allocates %v times", got)
	}
}
