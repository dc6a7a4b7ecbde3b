package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
)

const rebuildAbout = `usage: events rebuild [flags]

Prints all links that there are, made from the changelog alone: it is read to where it ends now, the newest state of
each link is kept in memory (about 1 KB a link), and they are printed in the order of their ids. Deleted links are
left out.

  events rebuild > links.jsonl
  events rebuild --format csv --workspace 019acf12-dc00-7000-8000-000000000002 > links.csv

A record that does not decode is passed over; then everything else is printed, and the exit code is 3. In CSV, a value that a spreadsheet would take for a formula has an apostrophe before it.

`

func runRebuild(ctx context.Context, environ, args []string, stdout io.Writer) error {
	flags, parse := newFlags("rebuild", rebuildAbout, environ, stdout)
	format := flags.String("format", "jsonl", "`jsonl` or csv")
	workspaceText := flags.String("workspace", "", "only of this workspace, a `UUID`")
	where, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	workspace, errs := optionalID("--workspace", *workspaceText, nil)
	if *format != "jsonl" && *format != "csv" {
		errs = append(errs, fmt.Errorf("--format: %q is neither jsonl nor csv", *format))
	}
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	client, err := where.connect(ctx)
	if err != nil {
		return err
	}
	client.Close() // somebody answers
	links, passedOver, err := allLinks(ctx, where, workspace)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(stdout)
	if *format == "csv" {
		err = writeCSV(out, links)
	} else {
		err = writeLines(out, links)
	}
	if err := errors.Join(err, flush(out)); err != nil {
		return err
	}
	if len(passedOver) > 0 {
		first := passedOver[0]
		return passedOverError{fmt.Errorf("records were passed over (%d), the first at offset %d of partition %d: %w", len(passedOver), first.Record.Offset, first.Record.Partition, first.Err)}
	}
	return nil
}

// allLinks are the live links in the order of their ids, as of some moment after the
// call, and the records that do not decode.
func allLinks(ctx context.Context, where source, workspace *events.ID) (links []*eventspb.LinkChanged, passedOver []events.Dead, err error) {
	newest := map[events.ID]*eventspb.LinkChanged{}
	aside := func(_ context.Context, d events.Dead) error {
		passedOver = append(passedOver, d)
		return nil
	}
	following, err := events.NewCopy(events.Settings{Brokers: where.brokers, TopicPrefix: where.prefix, DeadLetter: aside},
		func(_ context.Context, c events.LinkChange) error {
			switch {
			case c.Event == nil:
				delete(newest, c.Link)
			case newest[c.Link].GetRevision() < c.Event.GetRevision():
				newest[c.Link] = c.Event
			}
			return nil
		})
	if err != nil {
		return nil, nil, err
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- following.Run(reading) }()
	select {
	case <-following.Complete():
		stop()
		err = <-done
	case err = <-done:
		if err == nil {
			err = ctx.Err() // half a snapshot is none
		}
	}
	if err != nil {
		return nil, nil, err
	}
	maps.DeleteFunc(newest, func(_ events.ID, ev *eventspb.LinkChanged) bool {
		return ev.GetKind() == eventspb.LinkChanged_KIND_DELETED || !matches(workspace, ev.GetWorkspaceId())
	})
	links = slices.SortedFunc(maps.Values(newest), func(a, b *eventspb.LinkChanged) int {
		return bytes.Compare(a.GetLinkId(), b.GetLinkId())
	})
	return links, passedOver, nil
}

// notState are fields that are about a change and not about the link.
func notState() []string { return []string{"kind", "previous_address", "changed_at"} }

func writeLines(out *bufio.Writer, links []*eventspb.LinkChanged) error {
	for _, link := range links {
		if err := printLine(out, readable(link, notState()...)); err != nil {
			return err
		}
	}
	return nil
}

// column is a column of the CSV form: a field, or a field of a field.
type column struct {
	name string
	path []protoreflect.FieldDescriptor
}

// columns are the fields of a link in the order of the schema, the address in its
// parts.
func columns() []column {
	var out []column
	fields := (&eventspb.LinkChanged{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		switch {
		case slices.Contains(notState(), string(fd.Name())):
		case fd.Name() == "address":
			parts := fd.Message().Fields()
			for j := range parts.Len() {
				out = append(out, column{string(parts.Get(j).Name()), []protoreflect.FieldDescriptor{fd, parts.Get(j)}})
			}
		default:
			out = append(out, column{string(fd.Name()), []protoreflect.FieldDescriptor{fd}})
		}
	}
	return out
}

func writeCSV(out *bufio.Writer, links []*eventspb.LinkChanged) error {
	all := columns()
	rows := csv.NewWriter(out)
	row := make([]string, len(all))
	for i, c := range all {
		row[i] = c.name
	}
	err := rows.Write(row)
	for _, link := range links {
		for i, c := range all {
			text, cellErr := c.cell(link.ProtoReflect())
			row[i], err = text, errors.Join(err, cellErr)
		}
		err = errors.Join(err, rows.Write(row))
	}
	rows.Flush()
	if err := errors.Join(err, rows.Error()); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

func (c column) cell(m protoreflect.Message) (string, error) {
	for _, fd := range c.path[:len(c.path)-1] {
		m = m.Get(fd).Message()
	}
	fd := c.path[len(c.path)-1]
	if !m.Has(fd) {
		return "", nil
	}
	switch value := readableValue(fd, m.Get(fd)).(type) {
	case string:
		return harmless(value), nil
	default:
		if fd.IsList() && fd.Kind() == protoreflect.StringKind {
			list := m.Get(fd).List()
			texts := make([]string, list.Len())
			for i := range texts {
				texts[i] = list.Get(i).String()
			}
			return harmless(strings.Join(texts, ",")), nil
		}
		text, err := marshal(value)
		return string(text), err
	}
}

// harmless keeps a spreadsheet from running what somebody wrote into a title.
func harmless(text string) string {
	if strings.ContainsAny(text[:min(1, len(text))], "=+-@\t\r\n|%") {
		return "'" + text
	}
	return text
}
