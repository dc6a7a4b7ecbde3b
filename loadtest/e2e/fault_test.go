package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
)

func (s *stack) poison(t *testing.T) {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(s.env["LINKSTREAM_KAFKA_BROKERS"], ",")...),
		kgo.ConsumeTopics(string(events.DeadClicks), string(events.DeadLinksChangelog)),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	garbage := []byte("\xff not protobuf")
	for _, topic := range []events.Topic{events.Clicks, events.LinksChangelog} {
		record := &kgo.Record{Topic: string(topic), Key: []byte("poison-key-16byt"), Value: garbage}
		if err := client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	// One from the clicks topic, and one from the changelog for each region's consumer.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	seen := map[string]int{}
	for seen[string(events.DeadClicks)] < 1 || seen[string(events.DeadLinksChangelog)] < 2 {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("dead records so far: %v", seen)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if string(r.Value) != string(garbage) {
				t.Errorf("%s holds %q", r.Topic, r.Value)
			}
			headers := map[string]string{}
			for _, h := range r.Headers {
				headers[h.Key] = string(h.Value)
			}
			if headers["error"] == "" || headers["source_topic"] == "" || headers["source_partition"] == "" || headers["source_offset"] == "" {
				t.Errorf("%s: headers %v", r.Topic, headers)
			}
			seen[r.Topic]++
		})
	}
	// And the consumers go on.
	made := s.create(t, "after-poison", "https://e.test/")
	s.eventually(t, freshness, "all edges redirect", func(ctx context.Context) error {
		return s.everyEdge(ctx, "after-poison", http.StatusFound, "https://e.test/")
	})
	s.eventually(t, 30*time.Second, "clicks are counted", func(context.Context) error {
		if s.clicks(t, made.ID) < len(s.edges()) {
			return errors.New("not all yet")
		}
		return nil
	})
}

func (s *stack) killed(t *testing.T) {
	for _, name := range []string{"redirect-fra-0", "cacheupdater-ash", "links", "clicks"} {
		old := s.kill(t, name)
		s.eventually(t, time.Second, name+" has been started again", func(context.Context) error {
			if pid, err := s.pid(name); err != nil || pid == old {
				return fmt.Errorf("pid %d %w", pid, err)
			}
			return nil
		})
	}
	for _, port := range s.adminPorts() {
		s.eventually(t, 30*time.Second, "everything is ready again", func(ctx context.Context) error {
			if status, body, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", port)); err != nil || status != http.StatusOK {
				return fmt.Errorf("port %d: %d %s %w", port, status, body, err)
			}
			return nil
		})
	}
	s.create(t, "after-kill", "https://e.test/")
	s.eventually(t, freshness, "all edges redirect", func(ctx context.Context) error {
		return s.everyEdge(ctx, "after-kill", http.StatusFound, "https://e.test/")
	})
}

func (s *stack) held(t *testing.T) {
	s.create(t, "held", "https://e.test/")
	// From memory: an entry that was stored just before its creation was announced is
	// dropped by that, and nothing could bring it back afterwards.
	s.eventually(t, 10*time.Second, "all edges redirect from memory", func(ctx context.Context) error {
		for _, edge := range s.edges() {
			status, location, cache, err := visit(ctx, http.MethodGet, edge, "held")
			if err != nil || status != http.StatusFound || cache != "l1" {
				return fmt.Errorf("%s: %d %q from %s %w", edge, status, location, cache, err)
			}
		}
		return nil
	})
	names := []string{"postgres", "broker", "clickhouse", "redis-fra", "redis-ash", "links"}
	var releases []func()
	for _, name := range names {
		releases = append(releases, s.hold(t, name))
		s.kill(t, name)
	}
	// At first the edges still trust what they hold; the promise is about later, when
	// they know that nobody can confirm it.
	s.eventually(t, 10*time.Second, "every edge serves what nobody confirms", func(ctx context.Context) error {
		for _, edge := range s.edges() {
			status, location, cache, err := visit(ctx, http.MethodGet, edge, "held")
			if err != nil || status != http.StatusFound || location != "https://e.test/" {
				t.Errorf("with everything behind the edges gone: %s: %d %q %v", edge, status, location, err)
			}
			if cache != "stale" {
				return fmt.Errorf("%s answers from %s", edge, cache)
			}
		}
		return nil
	})
	// A link that no cache has is an honest 503, never a 404.
	status, _, _, err := visit(t.Context(), http.MethodGet, s.edges()[0], "never-seen")
	if err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("an unseen link: %d %v, want 503", status, err)
	}
	for _, release := range releases {
		release()
	}
	for _, port := range s.adminPorts() {
		s.eventually(t, time.Minute, "everything is ready again", func(ctx context.Context) error {
			if status, body, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", port)); err != nil || status != http.StatusOK {
				return fmt.Errorf("port %d: %d %s %w", port, status, body, err)
			}
			return nil
		})
	}
}

// unattended: no invalidation reaches the region's edges, and its Redis goes on
// holding the old target. Silence is what tells the edges.
func (s *stack) unattended(t *testing.T) {
	made := s.create(t, "unattended", "https://e.test/old")
	s.eventually(t, freshness, "all edges redirect", func(ctx context.Context) error {
		return s.everyEdge(ctx, "unattended", http.StatusFound, "https://e.test/old")
	})
	release := s.hold(t, "cacheupdater-ash")
	s.kill(t, "cacheupdater-ash")
	if status := s.call(t, http.MethodPatch, "/v1/links/"+made.ID, `{"destination":"https://e.test/new"}`, nil); status != http.StatusOK {
		t.Fatalf("editing: status %d", status)
	}
	took := s.eventually(t, freshness, "all edges follow the edit", func(ctx context.Context) error {
		return s.everyEdge(ctx, "unattended", http.StatusFound, "https://e.test/new")
	})
	t.Logf("the edit was live on four edges after %v", took.Round(time.Millisecond))
	release()
	s.eventually(t, 30*time.Second, "the cacheupdater is ready again", func(ctx context.Context) error {
		if status, body, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", 9031+s.base)); err != nil || status != http.StatusOK {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
}

func (s *stack) wiped(t *testing.T) {
	s.create(t, "wiped", "https://e.test/")
	const exists = "EXISTS redirect:localhost:wiped"
	s.eventually(t, 10*time.Second, "Redis has the link", func(ctx context.Context) error {
		if answer, err := redisCommand(ctx, s.redis(t, "fra"), exists); err != nil || answer != ":1" {
			return fmt.Errorf("%s %w", answer, err)
		}
		return nil
	})
	if answer, err := redisCommand(t.Context(), s.redis(t, "fra"), "FLUSHALL"); err != nil || answer != "+OK" {
		t.Fatalf("FLUSHALL: %s %v", answer, err)
	}
	took := s.eventually(t, 20*time.Second, "Redis has the link again, though nobody asked for it", func(ctx context.Context) error {
		if answer, err := redisCommand(ctx, s.redis(t, "fra"), exists); err != nil || answer != ":1" {
			return fmt.Errorf("%s %w", answer, err)
		}
		return nil
	})
	t.Logf("refilled after %v", took.Round(time.Millisecond))
}
