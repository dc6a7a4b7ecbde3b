package query

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

// A page asks a dozen questions at once, and the click store is asked once which days it
// knows.
//
// Guards I101.
func TestWhichDaysAreSettledIsAskedOnceAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lately{life: knownFor, asked: map[knownKey]*asked{}}
		key := knownKey{workspace: uuid.New(), first: 1, end: 31}
		other := key
		other.workspace = uuid.New()
		questions := 0
		ask := func(context.Context) (*known, error) {
			questions++                                                      // one at a time in this bubble
			time.Sleep(100 * time.Millisecond)                               //nolint:forbidigo // virtual time
			return &known{days: map[int64]uint64{1: uint64(questions)}}, nil //nolint:gosec // small
		}
		want := func(key knownKey, settlement uint64) {
			t.Helper()
			k, err := l.get(t.Context(), key, ask)
			if err != nil || k.days[1] != settlement {
				t.Errorf("it knows %+v, %v; want settlement %d", k, err, settlement)
			}
		}
		var page sync.WaitGroup
		for range 12 {
			page.Go(func() { want(key, 1) })
		}
		page.Wait()
		want(other, 2)
		time.Sleep(knownFor/2 - 201*time.Millisecond) //nolint:forbidigo // virtual time
		want(key, 1)
		time.Sleep(time.Millisecond) //nolint:forbidigo // virtual time
		want(key, 1)                 // and it is asked for again
		want(key, 1)
		time.Sleep(101 * time.Millisecond) //nolint:forbidigo // virtual time
		want(key, 3)                       // late clicks of a day may have come
		want(other, 2)                     // asked for at the same time
		time.Sleep(time.Hour)              //nolint:forbidigo // virtual time
		want(other, 5)
		if len(l.asked) != 1 {
			t.Errorf("%d answers are kept", len(l.asked))
		}
	})
}

// Who gives up takes nothing from those who wait, and an error is not kept.
func TestAnErrorIsOfThoseWhoWaitedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lately{life: knownFor, asked: map[knownKey]*asked{}}
		failure := errors.New("away")
		ask := func(ctx context.Context) (*known, error) {
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // virtual time
			return nil, errors.Join(failure, ctx.Err())
		}
		impatient, cancel := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		asking.Go(func() {
			if _, err := l.get(impatient, knownKey{}, ask); !errors.Is(err, context.Canceled) || errors.Is(err, failure) {
				t.Errorf("who gave up gets %v", err)
			}
		})
		synctest.Wait()
		asking.Go(func() {
			if _, err := l.get(t.Context(), knownKey{}, ask); !errors.Is(err, failure) || errors.Is(err, context.Canceled) {
				t.Errorf("who waited gets %v", err)
			}
		})
		synctest.Wait()
		cancel()
		asking.Wait()
		k, err := l.get(t.Context(), knownKey{}, func(context.Context) (*known, error) { return &known{}, nil })
		if err != nil || k == nil {
			t.Errorf("the next gets %+v, %v", k, err)
		}
	})
}
