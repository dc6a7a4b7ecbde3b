// Package control is the edge's end of the line to links: it announces this edge,
// takes commands (purge a link, hold a link), has the look-up carry them out, and
// confirms each; and it keeps the edge's table of domains as new as links has it.
//
// It promises that a command is confirmed only when it is done, that one which was
// lost on the way, or whose confirmation was, is asked for again, and that an edge
// which was cut off asks for all that it has missed before it goes on. Everything may
// happen twice: the look-up does not mind.
//
// It refuses to bother visitors: an edge that links cannot be reached from goes on
// serving, and links counts it as not confirmed.
package control

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/rpc/controlv1"
	"github.com/linkstream/linkstream/services/internal/rpc/controlv1/controlv1connect"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
)

const (
	// pollTimeout is after how long a poll, which links holds for a second, is taken for
	// lost, and with it the process that was asked.
	pollTimeout = 3 * time.Second
	// Between polls that fail.
	retryFirst = 100 * time.Millisecond
	retryMax   = time.Second

	confirmTimeout = time.Second
	leaveTimeout   = time.Second

	// catchUpEvery is how often everything is asked for that may have been missed,
	// though no poll failed, and purges of which Redis has not heard are tried again.
	// catchUpSoon is the same while a purge did not reach Redis from here.
	catchUpEvery = 30 * time.Second
	catchUpSoon  = 3 * time.Second

	// commandTimeout bounds one command.
	commandTimeout = 2 * time.Second
	// maxUnderWay bounds the commands under way; beyond it the poll waits, and links
	// takes the edge for dead if that lasts.
	maxUnderWay = 256
	// roomEvery is how often a poll that waits for room looks for it.
	roomEvery = 10 * time.Millisecond
	// maxAnswer bounds an answer: fifty commands of the largest kind.
	maxAnswer = 64 << 20
)

// caches is the look-up.
type caches interface {
	Purge(ctx context.Context, entries []linkcache.Entry) (redisDone bool, err error)
	Prewarm(ctx context.Context, entry linkcache.Entry) (inMemory, inRedis bool)
}

// Client is an edge's end of the line.
type Client struct {
	rpc     controlv1connect.ControlServiceClient
	http    *http.Client
	edge    *controlv1.Edge
	caches  caches
	domains *domains.Table
	started time.Time
	log     *slog.Logger

	mu       sync.Mutex
	underWay map[uint64]struct{}
	unheard  bool // a purge did not reach Redis from here

	askers      sync.WaitGroup
	asking      bool    // somebody asks for the table of domains
	next        *asking // those who wait for the question after the one under way
	silentUntil time.Time
}

// New returns the end of the line of a process that has just started, with nothing in
// memory. baseURL is the RPC listener of links.
func New(baseURL, region, name string, lookup caches, table *domains.Table, log *slog.Logger) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // a private address: no proxy stands between
	client := &http.Client{Transport: transport}
	instance := uuid.New()
	return &Client{
		rpc:      controlv1connect.NewControlServiceClient(connect.NewClient(connecthttp.NewTransport(client, baseURL, connecthttp.WithReadMaxBytes(maxAnswer)))),
		http:     client,
		edge:     &controlv1.Edge{Region: region, Name: name, Instance: instance[:]},
		caches:   lookup,
		domains:  table,
		started:  time.Now(),
		log:      log,
		underWay: map[uint64]struct{}{},
	}
}

// Run polls until ctx is done, then finishes the commands under way and says goodbye,
// so that nobody waits for this edge.
func (c *Client) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer c.http.CloseIdleConnections()
	defer c.leave(ctx)
	defer running.Wait()
	defer c.askers.Wait() // the server has stopped by now: nobody asks any more

	wait, lost := retryFirst, false
	var caughtUp time.Time // the zero time: everything may have been missed
	for ctx.Err() == nil {
		if !c.room() {
			pause(ctx, roomEvery)
			continue
		}
		asked := time.Now()
		catchUp := asked.Sub(caughtUp) > c.catchUpAfter()
		commands, err := c.poll(ctx, catchUp)
		if err != nil {
			if ctx.Err() == nil && !lost {
				c.log.WarnContext(ctx, "links does not answer this edge: it hears of no purge", "err", err)
			}
			lost, caughtUp = true, time.Time{}
			pause(ctx, wait/2+rand.N(wait/2+1)) //nolint:gosec // jitter
			wait = min(2*wait, retryMax)
			continue
		}
		if lost {
			c.log.InfoContext(ctx, "links answers this edge again")
		}
		lost, wait = false, retryFirst
		if catchUp {
			caughtUp = asked
			if len(commands) == 0 {
				c.setUnheard(false)
			}
		}
		for _, command := range commands {
			if c.begin(command.GetId()) {
				running.Go(func() { c.carryOut(context.WithoutCancel(ctx), command) })
			}
		}
	}
	return nil
}

func (c *Client) poll(ctx context.Context, catchUp bool) ([]*controlv1.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	answer, err := c.rpc.Poll(ctx, &controlv1.PollRequest{
		Edge: c.edge, AgeMs: uint64(time.Since(c.started).Milliseconds()), //nolint:gosec // not negative
		UnderWay: c.working(), CatchUp: catchUp, Domains: &controlv1.DomainsRequest{Revision: c.domains.Revision()},
	})
	if err != nil {
		return nil, err
	}
	if err := c.take(answer.GetDomains()); err != nil {
		c.log.ErrorContext(ctx, "the table of domains makes no sense", "err", err)
		pause(ctx, retryMax) // the next poll is answered at once, too
	}
	return answer.GetCommands(), nil
}

// carryOut does what a command says and confirms it. What is not confirmed is asked
// for again, by the next poll that is looked back for.
func (c *Client) carryOut(ctx context.Context, command *controlv1.Command) {
	defer c.end(command.GetId())
	ctx, cancel := context.WithTimeout(ctx, commandTimeout+confirmTimeout)
	defer cancel()
	confirm := controlv1.ConfirmRequest{CommandId: command.GetId(), Edge: c.edge}
	entries, err := entries(command)
	if err == nil {
		confirm.MemoryDone, confirm.RedisDone, err = c.do(ctx, command.GetKind(), entries)
	}
	if err != nil {
		c.log.ErrorContext(ctx, "a command was not carried out", "command", command.GetId(), "kind", command.GetKind().String(), "err", err)
		pause(ctx, confirmTimeout) // it is asked for again, but not at once
		return
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), confirmTimeout)
	defer cancel()
	if _, err := c.rpc.Confirm(ctx, &confirm); err != nil {
		c.log.WarnContext(ctx, "a command was carried out and is not confirmed", "command", command.GetId(), "err", err)
		pause(ctx, retryFirst)
	}
}

func (c *Client) do(ctx context.Context, kind controlv1.Command_Kind, entries []linkcache.Entry) (memory, redis bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	switch kind {
	case controlv1.Command_KIND_PURGE:
		redis, err = c.caches.Purge(ctx, entries)
		if !redis {
			c.setUnheard(true)
		}
		return err == nil, redis, err
	case controlv1.Command_KIND_PREWARM:
		memory, redis = true, true
		for _, entry := range entries {
			m, r := c.caches.Prewarm(ctx, entry)
			memory, redis = memory && m, redis && r
		}
		return memory, redis, nil
	case controlv1.Command_KIND_UNSPECIFIED:
	}
	// A kind of a later release. It was not done, and asking again would not help.
	return false, false, nil
}

// entries are what a command wants to be held at each address.
func entries(command *controlv1.Command) ([]linkcache.Entry, error) {
	var out []linkcache.Entry
	for _, link := range command.GetLinks() {
		e, err := linkcache.Entries(link)
		if err != nil {
			return nil, err
		}
		out = append(out, e[0])
	}
	return out, nil
}

// begin takes a command, unless it is under way.
func (c *Client) begin(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.underWay[id]; ok {
		return false
	}
	c.underWay[id] = struct{}{}
	return true
}

func (c *Client) end(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.underWay, id)
}

func (c *Client) working() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]uint64, 0, len(c.underWay))
	for id := range c.underWay {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (c *Client) room() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.underWay) < maxUnderWay
}

func (c *Client) setUnheard(unheard bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unheard = unheard
}

func (c *Client) catchUpAfter() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unheard {
		return catchUpSoon
	}
	return catchUpEvery
}

// leave says goodbye. If nobody hears it, nobody waits for long either.
func (c *Client) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if _, err := c.rpc.Leave(ctx, &controlv1.LeaveRequest{Edge: c.edge}); err != nil {
		c.log.DebugContext(ctx, "links did not hear that this edge stops", "err", err)
	}
}

// pause waits for a while, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
