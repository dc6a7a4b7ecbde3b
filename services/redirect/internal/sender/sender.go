package sender

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/services/redirect/internal/journal"
)

const (
	// linger is how long a click waits for company. With what a transaction takes it
	// is on its way within 100 ms.
	linger = 75 * time.Millisecond
	// enough is how many waiting bytes make a transaction at once.
	enough = 1 << 20
	// maxBatch is how much of the journal goes into one batch: compressed in a quarter of a
	// millisecond, for which an event loop on the same processor waits. With 256 KiB the
	// 99th percentile of answers at 65,000 a second was 8 ms, with this 1.2.
	maxBatch = 64 << 10
	// restFor is the pause between two batches: 64 KiB each 2.3 ms are 180,000 clicks a
	// second, more than an edge on one processor answers. Beyond restless bytes that wait
	// there is none.
	restFor  = 2 * time.Millisecond
	restless = 8 << 20
	// maxTransaction is after how many bytes a transaction ends.
	maxTransaction = 4 << 20
	// strangerWait is how long a stop waits for a broker that did not answer before it.
	strangerWait = 500 * time.Millisecond
	// stillAfter is when a broker that takes no clicks is told of again: most are back by
	// then, and what keeps this one is another reason than the first, mostly.
	stillAfter = time.Minute
	// The pauses after an error.
	firstBackoff, longestBackoff = 100 * time.Millisecond, 2 * time.Second
)

// ErrFenced says that another process has taken the edge's name.
var ErrFenced = errors.New("another process sends clicks under this edge's name: clicks stay in the journal until one of the two has another name and is started again")

// Settings of a Sender.
type Settings struct {
	Topic        string        // with its prefix
	Name         string        // transactional id and group of this edge, with the prefix
	DrainTimeout time.Duration // how long a stop may take
}

// Sender sends a journal. Err is safe for concurrent use.
type Sender struct {
	journal *journal.Journal
	options []kgo.Opt
	topic   string
	name    string
	drain   time.Duration
	log     *slog.Logger
	process string // tells this process from others with its name
	claimed bool
	hurry   atomic.Bool // it is to stop: whoever is still visiting has another edge

	encoder *encoder
	out     [2]bytes.Buffer // one is sent while the other is filled
	room    []byte

	mu  sync.Mutex
	err error
}

// New returns a sender. Options are those of a Kafka client (package kafka).
func New(j *journal.Journal, options []kgo.Opt, settings Settings, log *slog.Logger) (*Sender, error) {
	e, err := newEncoder()
	if err != nil {
		return nil, err
	}
	var process [8]byte
	_, _ = rand.Read(process[:]) // never fails
	return &Sender{
		journal: j, options: options, topic: settings.Topic, name: settings.Name, drain: settings.DrainTimeout, log: log,
		process: hex.EncodeToString(process[:]), encoder: e,
	}, nil
}

// Err says why this process will not send any more: ErrFenced. A broker that is away
// is no reason.
func (s *Sender) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Run sends until ctx is done, and then what waits within its time. What is left
// after that stays in the journal.
func (s *Sender) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var connected atomic.Bool
	defer context.AfterFunc(ctx, func() {
		s.hurry.Store(true)
		limit := s.drain
		if !connected.Load() {
			limit = min(limit, strangerWait) // what waits is as safe where it is
		}
		time.AfterFunc(limit, cancel)
	})()
	var backoff time.Duration
	var episode episode
	for {
		err := s.serve(ctx, work, func() { backoff = 0; connected.Store(true); episode.over(s) })
		connected.Store(false)
		if err == nil || work.Err() != nil || ctx.Err() != nil && s.journal.Stats().Waiting == 0 {
			return nil
		}
		if errors.Is(err, ErrFenced) {
			s.log.Error("clicks are not sent any more", "err", err)
			s.mu.Lock()
			s.err = err
			s.mu.Unlock()
			<-ctx.Done()
			return nil
		}
		backoff = min(max(2*backoff, firstBackoff), longestBackoff)
		episode.failed(s, err)
		timer := time.NewTimer(backoff)
		select {
		case <-work.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// serve opens a session and sends until there is an error, or until ctx is done and
// nothing waits.
func (s *Sender) serve(ctx, work context.Context, well func()) error {
	if ctx.Err() != nil && s.journal.Stats().Waiting == 0 {
		return nil
	}
	n, err := s.open(work)
	if err != nil {
		return err
	}
	defer n.client.Close()
	tick := time.NewTicker(linger)
	defer tick.Stop()
	for {
		sent, err := n.send(work)
		if err != nil {
			return err
		}
		well()
		if sent > 0 && s.journal.Stats().Bytes >= enough {
			continue
		}
		if ctx.Err() != nil {
			if sent == 0 {
				return nil
			}
			continue
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// episode is a time in which the broker takes no clicks: one line when it begins, one
// more if it lasts, one when it ends.
type episode struct {
	since time.Time
	again bool // told of again
}

// failed takes what every try ended with.
func (e *episode) failed(s *Sender, err error) {
	stats := s.journal.Stats()
	var age time.Duration
	if !stats.Oldest.IsZero() {
		age = time.Since(stats.Oldest)
	}
	switch {
	case e.since.IsZero():
		e.since = time.Now()
		s.log.Warn("clicks wait in the journal: the broker does not take them", "err", err, "waiting", stats.Waiting, "oldest", age)
	case !e.again && time.Since(e.since) >= stillAfter:
		e.again = true
		s.log.Error("clicks still wait in the journal", "err", err, "waiting", stats.Waiting, "oldest", age)
	}
}

func (e *episode) over(s *Sender) {
	if !e.since.IsZero() {
		s.log.Info("clicks are sent again", "after", time.Since(e.since), "waiting", s.journal.Stats().Waiting)
		*e = episode{}
	}
}

func outOfRange(err error) bool { return errors.Is(err, kerr.OffsetOutOfRange) }
