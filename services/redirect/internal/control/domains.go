package control

import (
	"context"
	"errors"
	"time"

	"github.com/linkstream/linkstream/services/internal/rpc/controlv1"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
)

const (
	// askTimeout bounds one question for the table of domains. A visitor waits.
	askTimeout = 250 * time.Millisecond
	// askPause is between two of them: what a flood of made-up hosts costs links.
	askPause = 10 * time.Millisecond
	// silentFor is for how long nobody asks after links did not answer.
	silentFor = 500 * time.Millisecond
)

// asking are the visitors who wait for the same answer.
type asking struct {
	done    chan struct{}
	current bool
}

// Current makes sure that the table of domains is no older than this call, for a host
// that the table lacks: a domain may have been made a moment ago. It says false when
// links did not answer. All who ask meanwhile share one question, so that strange hosts
// cost links a hundred small questions a second from each edge at most, however many
// come.
func (c *Client) Current(ctx context.Context) bool {
	c.mu.Lock()
	if time.Now().Before(c.silentUntil) {
		c.mu.Unlock()
		return false
	}
	// One that is under way may have been answered before the domain was made.
	a := c.next
	if a == nil {
		a = &asking{done: make(chan struct{})}
		c.next = a
		if !c.asking {
			c.asking = true
			c.askers.Go(func() { c.askAll(context.WithoutCancel(ctx)) })
		}
	}
	c.mu.Unlock()
	select {
	case <-a.done:
		return a.current
	case <-ctx.Done():
		return false
	}
}

// askAll asks until nobody waits any more.
func (c *Client) askAll(ctx context.Context) {
	for {
		c.mu.Lock()
		a := c.next
		c.next = nil
		if a == nil {
			c.asking = false
		}
		c.mu.Unlock()
		if a == nil {
			return
		}
		err := c.ask(ctx)
		if err != nil {
			c.mu.Lock()
			c.silentUntil = time.Now().Add(silentFor)
			c.mu.Unlock()
		}
		a.current = err == nil
		close(a.done)
		pause(ctx, askPause)
	}
}

func (c *Client) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := c.rpc.Domains(ctx, &controlv1.DomainsRequest{Revision: c.domains.Revision()})
	if err != nil {
		return err
	}
	return c.take(answer.GetTable())
}

var errNoHost = errors.New("a domain without a host")

// take puts a table into the place of an older one; nil says that there is no newer one.
func (c *Client) take(table *controlv1.DomainTable) error {
	if table == nil {
		return nil
	}
	all := make([]domains.Domain, len(table.GetDomains()))
	for i, d := range table.GetDomains() {
		if d.GetHost() == "" {
			return errNoHost
		}
		all[i] = domains.Domain{Host: d.GetHost(), FoldCase: d.GetFoldCase(), Home: d.GetHomeUrl(), Fallback: d.GetFallbackUrl(), NoPreview: d.GetNoPreview()}
	}
	c.domains.Take(table.GetRevision(), all)
	return nil
}
