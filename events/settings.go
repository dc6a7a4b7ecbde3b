package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Settings say what to read and what becomes of what cannot be handled. Brokers,
// and for a subscription Group, have no default.
type Settings struct {
	// Brokers are host:port of some brokers.
	Brokers []string
	// TopicPrefix is the installation's LINKSTREAM_TOPIC_PREFIX.
	TopicPrefix string
	// Group is the consumer group, the name of your service. All processes with one
	// group share the work; a Copy has none.
	Group string
	// Start is where a group begins that has committed nothing yet; the default is
	// Earliest.
	Start Start
	// Kafka are further options of the client: TLS, SASL, a logger, a group's instance
	// id. Those that this package sets itself win.
	Kafka []kgo.Opt

	// Versions has states left out that are not newer than what was handled. Without it
	// the handler gets every record, also again.
	Versions Versions
	// Skip is asked about a change of the changelog before it is decoded, where Brief can
	// tell what it is about. What it says true to counts as handled, and costs a fraction;
	// Versions do not hear of it. It is called by several goroutines. Only a subscription
	// asks it.
	Skip func(context.Context, Brief) bool
	// DeadLetter is given each record that could not be decoded or handled. When it
	// returns nil, the record is passed over. Without it Run ends with the error and the
	// record stays to be read: nothing is skipped silently. It may get a record again, as a
	// handler may.
	DeadLetter func(context.Context, Dead) error
	// Observe is told what happens, for metrics. It is called by several goroutines and
	// must not block.
	Observe func(Observation)

	// Tries is how often a handler is asked in all before it counts as having given up
	// (default 5). Between two tries there are RetryFirst (default 100ms), doubled each
	// time up to RetryMax (default 10s), give or take a quarter.
	Tries      int
	RetryFirst time.Duration
	RetryMax   time.Duration
	// Drain is how long what is in hand may take when Run is stopped (default 10s).
	Drain time.Duration
	// MaxPoll bounds how many records are in hand at once (default 500), and with them
	// how long a rebalance may have to wait.
	MaxPoll int
}

// Start is where reading begins.
type Start struct {
	kind startKind
	at   time.Time
}

type startKind int

const (
	startEarliest startKind = iota
	startLatest
	startAt
)

// Earliest is the beginning of the topic. On the changelog that is every link.
func Earliest() Start { return Start{kind: startEarliest} }

// Latest is the end of the topic: only what comes from now on.
func Latest() Start { return Start{kind: startLatest} }

// At is the first record that the broker got at this moment or later.
func At(t time.Time) Start { return Start{kind: startAt, at: t} }

func (s Start) offset() kgo.Offset {
	switch s.kind {
	case startLatest:
		return kgo.NewOffset().AtEnd()
	case startAt:
		return kgo.NewOffset().AfterMilli(s.at.UnixMilli())
	case startEarliest:
		return kgo.NewOffset().AtStart()
	default:
		return kgo.NewOffset().AtStart()
	}
}

// Dead is a record that could not be decoded or handled.
type Dead struct {
	Record *kgo.Record
	Err    error
	// Tries is how often the handler was asked; 0 for a record that does not decode.
	Tries int
}

// ErrPoison in a handler's error says that further tries cannot help: wrap it with
// %w, and the record counts as given up at once.
var ErrPoison = errors.New("the record can never be handled")

// Observed is what an Observation is about.
type Observed string

// What is observed. The list may grow.
const (
	ObservedHandled  Observed = "handled"  // the handler returned nil; Took is how long it took
	ObservedSkipped  Observed = "skipped"  // Skip was true of Records records
	ObservedStale    Observed = "stale"    // left out: not newer than what was handled
	ObservedRetried  Observed = "retried"  // the handler returned Err and is asked again
	ObservedDead     Observed = "dead"     // given to DeadLetter, because of Err
	ObservedFetch    Observed = "fetch"    // reading met Err and goes on
	ObservedAssigned Observed = "assigned" // the group gave this process Partition
	ObservedRevoked  Observed = "revoked"  // took it back; what was marked is committed
	ObservedLost     Observed = "lost"     // took it without asking; nothing is committed
	ObservedLag      Observed = "lag"      // Records are still to be read of Partition
)

// Observation is something that happened. Which fields are set depends on What.
type Observation struct {
	What      Observed
	Topic     Topic
	Partition int32
	Records   int64
	Took      time.Duration
	Err       error
}

const (
	defaultTries      = 5
	defaultRetryFirst = 100 * time.Millisecond
	defaultRetryMax   = 10 * time.Second
	defaultDrain      = 10 * time.Second
	defaultMaxPoll    = 500
)

// complete fills the defaults in and says everything that is wrong.
func (s Settings) complete() (Settings, error) {
	if s.Tries == 0 {
		s.Tries = defaultTries
	}
	if s.RetryFirst == 0 {
		s.RetryFirst = defaultRetryFirst
	}
	if s.RetryMax == 0 {
		s.RetryMax = max(defaultRetryMax, s.RetryFirst)
	}
	if s.Drain == 0 {
		s.Drain = defaultDrain
	}
	if s.MaxPoll == 0 {
		s.MaxPoll = defaultMaxPoll
	}
	if s.Observe == nil {
		s.Observe = func(Observation) {}
	}
	var errs []error
	if len(s.Brokers) == 0 {
		errs = append(errs, errors.New("the settings name no Brokers"))
	}
	if s.Tries < 0 || s.MaxPoll < 0 || s.RetryFirst < 0 || s.RetryMax < s.RetryFirst || s.Drain < 0 {
		errs = append(errs, fmt.Errorf("of the settings, Tries %d, MaxPoll %d, RetryFirst %v, RetryMax %v and Drain %v must be positive, and RetryMax no less than RetryFirst",
			s.Tries, s.MaxPoll, s.RetryFirst, s.RetryMax, s.Drain))
	}
	return s, errors.Join(errs...)
}
