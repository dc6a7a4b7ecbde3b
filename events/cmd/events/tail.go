package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/events/internal/ends"
)

const tailAbout = `usage: events tail [flags]

Shows changes of links, one JSON object a line, as they come. With --clicks, clicks. The address of a visitor is
personal data and left out unless you ask for it. Links are not ordered against each other; the lines of one link are.
A tombstone does not say whose link it was: --workspace leaves it out. What does not decode is always shown.

  events tail                                            from now on
  events tail --from 15m                                 of the last 15 minutes, and on
  events tail --from beginning --until-end               everything there is, and stop
  events tail --from 2026-11-30T08:00:00Z --type created,deleted
  events tail --partition 3 --from 1200 --limit 1        the record at one offset
  events tail --clicks --link 019acf12-dc00-7000-8000-000000000001 | jq -r .referrer

`

// wish is what somebody wants to see.
type wish struct {
	clicks, addresses, untilEnd bool
	workspace, link             *events.ID
	types                       []string
	partition                   int
	from                        kgo.Offset
	limit                       int
}

// The types of lines; "tombstone" is a key that compaction is going to drop.
func lineTypes() []string { return []string{"created", "updated", "deleted", "tombstone"} }

func runTail(ctx context.Context, environ, args []string, stdout io.Writer) error {
	flags, parse := newFlags("tail", tailAbout, environ, stdout)
	var w wish
	flags.BoolVar(&w.clicks, "clicks", false, "clicks instead of changes")
	flags.BoolVar(&w.addresses, "addresses", false, "show the addresses of visitors, too")
	flags.BoolVar(&w.untilEnd, "until-end", false, "stop where the topic ends now")
	workspace := flags.String("workspace", "", "only of this workspace, a `UUID`")
	link := flags.String("link", "", "only of this link, a `UUID`")
	types := flags.String("type", "", "only these types of changes: `created,updated,deleted,tombstone`")
	from := flags.String("from", "end", "`where` to begin: beginning, end, a time (RFC 3339), a duration ago (15m), or with --partition an offset")
	flags.IntVar(&w.partition, "partition", -1, "only this partition, a `number` from 0")
	flags.IntVar(&w.limit, "limit", 0, "stop after so many lines, a `number` (0 for never)")
	where, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	w.workspace, errs = optionalID("--workspace", *workspace, errs)
	w.link, errs = optionalID("--link", *link, errs)
	if w.from, err = parseFrom(*from, w.partition, time.Now()); err != nil {
		errs = append(errs, err)
	}
	if *types != "" {
		w.types = strings.Split(*types, ",")
		for _, t := range w.types {
			if !slices.Contains(lineTypes(), t) {
				errs = append(errs, fmt.Errorf("--type: %q is none of %s", t, strings.Join(lineTypes(), ", ")))
			}
		}
	}
	if w.clicks && *types != "" {
		errs = append(errs, errors.New("--type is about changes: a click has none"))
	}
	if !w.clicks && w.addresses {
		errs = append(errs, errors.New("--addresses is about clicks: add --clicks"))
	}
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	return w.tail(ctx, where, stdout)
}

func optionalID(name, text string, errs []error) (*events.ID, []error) {
	if text == "" {
		return nil, errs
	}
	id, err := events.ParseID(text)
	if err != nil {
		return nil, append(errs, fmt.Errorf("%s: %w", name, err))
	}
	return &id, errs
}

func parseFrom(text string, partition int, now time.Time) (kgo.Offset, error) {
	switch text {
	case "beginning":
		return kgo.NewOffset().AtStart(), nil
	case "end":
		return kgo.NewOffset().AtEnd(), nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 && text != "0" {
		return kgo.NewOffset().AfterMilli(now.Add(-ago).UnixMilli()), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return kgo.NewOffset().AfterMilli(at.UnixMilli()), nil
	}
	offset, err := strconv.ParseInt(text, 10, 64)
	if err != nil || offset < 0 {
		return kgo.Offset{}, fmt.Errorf("--from: %q is neither beginning, end, a time as 2026-11-30T08:00:00Z, a duration as 15m, nor an offset", text)
	}
	if partition < 0 {
		return kgo.Offset{}, errors.New("--from: an offset counts in one partition: add --partition")
	}
	return kgo.NewOffset().At(offset), nil
}

func (w wish) topic() events.Topic {
	if w.clicks {
		return events.Clicks
	}
	return events.LinksChangelog
}

func (w wish) tail(ctx context.Context, where source, stdout io.Writer) error {
	topic := w.topic().Name(where.prefix)
	from := w.from
	client, err := where.connect(ctx, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(idleAfter))
	if err != nil {
		return ignoreStop(ctx, err)
	}
	defer client.Close()
	open, err := ends.Read(ctx, client, topic)
	if err != nil {
		return ignoreStop(ctx, err)
	}
	starts, err := w.starts(ctx, client, topic, from)
	if err != nil {
		return ignoreStop(ctx, err)
	}
	open.Begin(starts)
	positions := map[int32]kgo.Offset{}
	for partition, offset := range starts {
		positions[partition] = kgo.NewOffset().At(offset)
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: positions})

	out := bufio.NewWriter(stdout)
	for shown := 0; !w.untilEnd || !open.Reached(); {
		fetches, idle := poll(ctx, client, w.untilEnd)
		if ctx.Err() != nil {
			return nil
		}
		if idle {
			if err := open.Probe(ctx, client); err != nil {
				return ignoreStop(ctx, err)
			}
			continue
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("reading %s: %w", topic, err)
		}
		for records := fetches.RecordIter(); !records.Done(); {
			record := records.Next()
			open.Passed(record.Partition, record.Offset)
			line, ok := w.line(record)
			if !ok {
				continue
			}
			if err := printLine(out, line); err != nil {
				return err
			}
			if shown++; shown == w.limit {
				return flush(out)
			}
		}
		if err := flush(out); err != nil {
			return err
		}
	}
	return nil
}

// starts are the offsets to begin at, of the partitions that are wished for.
func (w wish) starts(ctx context.Context, client *kgo.Client, topic string, from kgo.Offset) (map[int32]int64, error) {
	admin := kadm.NewClient(client)
	at := from.EpochOffset().Offset
	list := admin.ListStartOffsets
	switch {
	case from == kgo.NewOffset().AtEnd():
		list = admin.ListCommittedOffsets
	case at >= 0 && from == kgo.NewOffset().AfterMilli(at):
		list = func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
			return admin.ListOffsetsAfterMilli(ctx, at, topics...)
		}
	}
	listed, err := list(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("asking where to begin in %s: %w", topic, err)
	}
	starts := map[int32]int64{}
	for partition, o := range listed[topic] {
		if w.partition >= 0 && int(partition) != w.partition {
			continue
		}
		if o.Err != nil {
			return nil, fmt.Errorf("asking where to begin in partition %d of %s: %w", partition, topic, o.Err)
		}
		starts[partition] = o.Offset
		if at >= 0 && from == kgo.NewOffset().At(at) {
			starts[partition] = max(o.Offset, at)
		}
	}
	if len(starts) == 0 {
		return nil, usageError{fmt.Errorf("%s has no partition %d", topic, w.partition)}
	}
	return starts, nil
}

// idleAfter is how long nothing comes before the broker is asked whether that was all.
const idleAfter = 300 * time.Millisecond

func poll(ctx context.Context, client *kgo.Client, limited bool) (fetches kgo.Fetches, idle bool) {
	if !limited {
		return client.PollFetches(ctx), false
	}
	limit, cancel := context.WithTimeout(ctx, idleAfter)
	defer cancel()
	fetches = client.PollFetches(limit)
	return fetches, fetches.NumRecords() == 0 && limit.Err() != nil
}

// line is what to show of a record, if anything. A record that does not decode is
// shown with the reason: somebody who looks wants to know.
func (w wish) line(r *kgo.Record) (object, bool) {
	place := object{{"partition", r.Partition}, {"offset", r.Offset}}
	if w.clicks {
		click := &eventspb.Click{}
		if err := events.DecodeClick(r.Value, click); err != nil {
			return append(place, field{"error", err.Error()}), true
		}
		if !matches(w.workspace, click.GetWorkspaceId()) || !matches(w.link, click.GetLinkId()) {
			return nil, false
		}
		if !w.addresses {
			click.Address = nil
		}
		return append(place, readable(click)...), true
	}
	event, err := events.DecodeLinkChanged(r)
	if errors.Is(err, events.ErrTombstone) && len(r.Key) == len(events.ID{}) {
		// it does not say whose it was
		if w.workspace != nil || !matches(w.link, r.Key) || len(w.types) > 0 && !slices.Contains(w.types, "tombstone") {
			return nil, false
		}
		return append(object{{"type", "tombstone"}, {"link_id", events.ID(r.Key).String()}}, place...), true
	}
	if err != nil {
		return append(place, field{"error", err.Error()}), true
	}
	kind, _ := enumName(event.GetKind().Descriptor(), event.GetKind().Number()).(string)
	if !matches(w.workspace, event.GetWorkspaceId()) || !matches(w.link, event.GetLinkId()) || len(w.types) > 0 && !slices.Contains(w.types, kind) {
		return nil, false
	}
	return append(append(object{{"type", kind}}, readable(event, "kind")...), place...), true
}

func matches(wanted *events.ID, id []byte) bool {
	return wanted == nil || len(id) == len(wanted) && *wanted == events.ID(id)
}

func printLine(out *bufio.Writer, line object) error {
	text, err := marshal(line)
	if err == nil {
		_, err = out.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

func flush(out *bufio.Writer) error {
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// ignoreStop is nil when an error comes from Ctrl-C.
func ignoreStop(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // being stopped is no error
	}
	return err
}
