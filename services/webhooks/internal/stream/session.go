package stream

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Session is one viewer's stream.
type Session struct {
	stream  *Stream
	request Request
	from    *position // where the viewer was; nil for now
	at      position  // how far it has come
	viewer  *viewer   // of both topics: whoever lets it go ends the session
	clicks  *viewer
}

func (s *Session) join(ctx context.Context) (err error) {
	if s.at.topics[linksTopic], err = s.stream.links.join(ctx, s.request.Workspace, s.viewer); err != nil {
		return err
	}
	if s.request.Clicks {
		s.clicks = newViewer()
		s.at.topics[clicksTopic], err = s.stream.clicks.join(ctx, s.request.Workspace, s.clicks)
	}
	s.at.at = time.Now()
	return err
}

// Close ends the session.
func (s *Session) Close() {
	s.stream.links.leave(s.viewer)
	if s.clicks != nil {
		s.stream.clicks.leave(s.clicks)
	}
	s.stream.dismiss(s.request.Workspace)
}

// Serve writes events until ctx is done, the viewer is let go, or out fails. Each Write is
// one piece that should arrive at once. still is asked now and then whether the viewer
// may still look.
func (s *Session) Serve(ctx context.Context, out io.Writer, still func() error) error {
	// A reader who breaks off before the first event comes back to here.
	welcome := "retry: 2000\n: welcome\n\n"
	if s.from == nil {
		welcome = "retry: 2000\nid: " + s.id() + "\n\n"
	}
	if _, err := io.WriteString(out, welcome); err != nil {
		return err
	}
	if s.from != nil {
		if err := s.catchUp(ctx, out); err != nil {
			return err
		}
	}
	var clicks chan item
	var clicksLost chan struct{}
	if s.clicks != nil {
		clicks, clicksLost = s.clicks.items, s.clicks.lost
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case it := <-s.viewer.items:
			err = s.take(out, linksTopic, it, still)
		case it := <-clicks:
			err = s.take(out, clicksTopic, it, nil)
		case <-s.viewer.lost:
			return s.bye(out, s.viewer.reason)
		case <-clicksLost:
			return s.bye(out, s.clicks.reason)
		}
		if err != nil {
			return err
		}
	}
}

// bye says why the stream ends. The viewer may come back with the id of its last event.
func (s *Session) bye(out io.Writer, reason string) error {
	s.stream.dropped.WithLabelValues(reason).Inc()
	_, err := fmt.Fprintf(out, "event: end\ndata: {\"reason\":%q}\n\n", reason)
	return err
}

func (s *Session) id() string { return s.at.String() }

// take writes an item, if it is new and wanted.
func (s *Session) take(out io.Writer, topic int, it item, still func() error) error {
	if it.mark != nil {
		for p, o := range it.mark {
			if p < len(s.at.topics[topic]) {
				s.at.topics[topic][p] = max(s.at.topics[topic][p], o)
			}
		}
		s.at.at = time.Now()
		if still != nil {
			if err := still(); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(out, ": heartbeat\nid: %s\n\n", s.id())
		return err
	}
	offsets := s.at.topics[topic]
	if int(it.partition) >= len(offsets) || it.offset < offsets[it.partition] {
		return nil // seen
	}
	offsets[it.partition] = it.offset + 1
	s.at.at = time.Now()
	if !s.request.Filter.Wants(it.event) {
		return nil
	}
	_, err := fmt.Fprintf(out, "event: %s\nid: %s\ndata: %s\n", it.event.Type, s.id(), it.json)
	return err
}

const (
	// keptFor is how long the changelog keeps every change; of older ones it keeps the
	// newest of each link.
	keptFor = 7 * 24 * time.Hour
	// silence is when a partition is taken for read to its end.
	silence = 5 * time.Second
)

// catchUp writes what happened between the viewer's place and the one where it joined.
// What happens meanwhile waits in its queue.
func (s *Session) catchUp(ctx context.Context, out io.Writer) error {
	select {
	case s.stream.catching <- struct{}{}:
		defer func() { <-s.stream.catching }()
	case <-ctx.Done():
		return nil
	}
	joined := s.at.clone()
	if time.Since(s.from.at) > keptFor {
		if err := gap(out); err != nil {
			return err
		}
	}
	for topic, h := range []*hub{s.stream.links, s.stream.clicks} {
		if joined.topics[topic] == nil {
			continue
		}
		if err := s.catchUpWith(ctx, out, topic, h, joined.topics[topic]); err != nil {
			return err
		}
	}
	return nil
}

func gap(out io.Writer) error {
	_, err := io.WriteString(out, "event: gap\ndata: {\"reason\":\"retention\"}\n\n")
	return err
}

func (s *Session) catchUpWith(ctx context.Context, out io.Writer, topic int, h *hub, until []int64) error {
	name := h.topic.Name(s.stream.prefix)
	at := s.at.topics[topic]
	from := map[int32]kgo.Offset{}
	for p := range at {
		if p >= len(s.from.topics[topic]) {
			continue // a viewer that did not look at this topic begins now
		}
		at[p] = s.from.topics[topic][p]
		if at[p] < until[p] {
			from[int32(p)] = kgo.NewOffset().At(at[p]) //nolint:gosec // partitions are few
		}
	}
	if len(from) == 0 {
		return nil
	}
	client, err := kgo.NewClient(append(slices.Clone(s.stream.options), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: from}))...)
	if err != nil {
		return fmt.Errorf("making the reader: %w", err)
	}
	defer client.Close()
	lost, err := s.forgotten(ctx, client, name, at, from)
	if err == nil && lost {
		err = gap(out)
	}
	for err == nil && len(from) > 0 && ctx.Err() == nil {
		polling, cancel := context.WithTimeout(ctx, silence)
		fetches := client.PollRecords(polling, 1000)
		cancel()
		if fetches.NumRecords() == 0 && ctx.Err() == nil {
			// The rest up to there is compacted away, if the broker is there to say more.
			if _, err := endOffsets(ctx, client, name); err != nil {
				return err
			}
			break
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if err == nil {
				err = s.repeat(out, topic, h, r, until, from)
			}
		})
	}
	for p := range until {
		at[p] = max(at[p], until[p])
	}
	return err
}

// repeat writes one record of the past.
func (s *Session) repeat(out io.Writer, topic int, h *hub, r *kgo.Record, until []int64, open map[int32]kgo.Offset) error {
	if r.Offset+1 >= until[r.Partition] {
		delete(open, r.Partition)
	}
	if r.Offset >= until[r.Partition] || r.Attrs.IsControl() {
		return nil
	}
	ev := h.convert(r)
	if ev == nil || ev.Workspace != s.request.Workspace {
		s.at.topics[topic][r.Partition] = max(s.at.topics[topic][r.Partition], r.Offset+1)
		return nil
	}
	return s.take(out, topic, item{partition: r.Partition, offset: r.Offset, event: ev, json: render(ev)}, nil)
}

// forgotten says whether the topic does not go back to the viewer's place any more.
func (s *Session) forgotten(ctx context.Context, client *kgo.Client, name string, at []int64, open map[int32]kgo.Offset) (bool, error) {
	starts, err := startOffsets(ctx, client, name)
	if err != nil {
		return false, err
	}
	lost := false
	for p := range open {
		lost = lost || at[p] < starts[p]
	}
	return lost, nil
}
