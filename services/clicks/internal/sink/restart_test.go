package sink

import (
	"testing"

	"github.com/linkstream/linkstream/services/internal/clickhousetest"
)

// A server dies with a block in all tables and its answer on the way. Started again, it
// knows the block in each of them, in a schema that was just made, too: what a view is
// to its inserts' tokens must not change with a restart.
//
// Guards I36.
func TestServerThatDiedBeforeItsAnswerKnowsTheBlock(t *testing.T) {
	s := newSystem(t, 1)
	first := make(chan struct{}, 1)
	first <- struct{}{}
	die := func() error {
		select {
		case <-first:
		default:
			return nil
		}
		clickhousetest.Kill()
		clickhousetest.Restart(t)
		return errInjected
	}
	s.start(&faulty{store: s.ch, after: die})
	s.produce(30)
	s.wantExactly(30)
	s.produce(20)
	s.wantExactly(50)
}
