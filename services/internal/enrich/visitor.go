package enrich

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/linkstream/linkstream/services/internal/agent"
)

const (
	// keyDays is for how many days after its own a day's key is kept, so that
	// clicks which were held up are still recognised.
	keyDays = 2
	// daysAhead is how far into the future a click may be (around midnight) to
	// get the shared key.
	daysAhead = 1
	// privateKeys bounds the keys in memory that late clicks and wrong clocks
	// need; the shared ones are at most keyDays+daysAhead+1.
	privateKeys = 64
)

// Day is a day of UTC, counted from 1970-01-01.
type Day int64

// DayOf is the day of a click.
func DayOf(unixMicro int64) Day { return Day(unixMicro / (24 * 60 * 60 * 1_000_000)) }

// Time is the day's first instant.
func (d Day) Time() time.Time { return time.Unix(int64(d)*24*60*60, 0).UTC() }

// Key is the secret of one day that turns a visitor into a number. When it is
// gone, nobody can tell whose number it was, nor find the same visitor in
// another day.
type Key [32]byte

// NewKey makes a key.
func NewKey() Key {
	var k Key
	_, _ = rand.Read(k[:]) // never fails: it ends the program when the system has no randomness
	return k
}

// visitor is the number of an address and user agent within a workspace: two
// customers cannot find out that they have a visitor in common. SHA-256 cut to
// 64 bits over fields of fixed length, the user agent last; cut so short there is
// nothing to extend, so the key may simply come first.
func (k *Key) visitor(workspace, address, userAgent []byte) uint64 {
	var buffer [len(k) + 16 + 16 + agent.MaxBytes]byte
	b := append(buffer[:0], k[:]...)
	b = append(b, workspace[:16]...)
	if len(address) == 4 { // the same form as an IPv4 address that came over IPv6
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff)
		b = append(b, address...)
	} else {
		var whole [16]byte
		copy(whole[:], address)
		b = append(b, whole[:]...)
	}
	b = append(b, userAgent[:min(len(userAgent), agent.MaxBytes)]...)
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:8])
}

// KeyStore keeps the keys that all ingesters share.
type KeyStore interface {
	// VisitorKey returns the day's key. When there is none yet it stores the
	// candidate; of two that do so at once both get the same answer.
	VisitorKey(ctx context.Context, day Day, candidate Key) (Key, error)
}

// Visitors hands out the keys of days. All ingesters use the same key for a day,
// or a visitor would be counted once for each of them; the store throws a key
// away keyDays after its day. A click that comes later than that gets a key of
// this process alone, which is never stored: its visitor counts as a new one.
type Visitors struct {
	store KeyStore
	now   func() time.Time

	mu      sync.Mutex
	today   Day
	shared  map[Day]Key
	private map[Day]Key
}

// NewVisitors returns Visitors over a shared store.
func NewVisitors(store KeyStore, now func() time.Time) *Visitors {
	return &Visitors{store: store, now: now, shared: map[Day]Key{}, private: map[Day]Key{}}
}

// Key returns the day's key. It asks the store once a day; its error is the
// store's, and the caller tries again.
func (v *Visitors) Key(ctx context.Context, day Day) (Key, error) {
	v.mu.Lock()
	defer v.mu.Unlock() // held while the store is asked: one question a day, not one a partition
	v.forget(DayOf(v.now().UnixMicro()))
	if day < v.today-keyDays || day > v.today+daysAhead {
		return v.privateKey(day), nil
	}
	if key, ok := v.shared[day]; ok {
		return key, nil
	}
	key, err := v.store.VisitorKey(ctx, day, NewKey())
	if err != nil {
		return Key{}, fmt.Errorf("asking for the visitor key of a day: %w", err)
	}
	v.shared[day] = key
	return key, nil
}

func (v *Visitors) privateKey(day Day) Key {
	key, ok := v.private[day]
	if !ok {
		if len(v.private) >= privateKeys {
			clear(v.private)
		}
		key = NewKey()
		v.private[day] = key
	}
	return key
}

// forget drops, when a new day begins, the keys whose time is over.
func (v *Visitors) forget(today Day) {
	if today == v.today {
		return
	}
	v.today = today
	clear(v.private)
	for day := range v.shared {
		if day < today-keyDays {
			delete(v.shared, day)
		}
	}
}
