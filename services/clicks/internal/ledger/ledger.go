// Package ledger compares what the edges accepted with what is counted.
//
// It promises a verdict that does not depend on who was restarted. An edge's metrics
// count from its journal's birth, or without a journal from its process's start, and
// are compared with the rows that carry its name and are no older than that; what the
// ingesters did is read from the topics and the tables rather than from their metrics,
// which begin at nothing with every process. It refuses to call a
// comparison good that it could not make: it says why not.
package ledger

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"
)

// Edge is one edge's account.
type Edge struct {
	Name     string
	Since    time.Time // from when its metrics count; zero is its journal's birth
	Accepted int64
	Dropped  int64
	Waiting  int64 // in its journal
	Rows     int64 // in ClickHouse, of this edge and no older than Since
}

// Difference is how many of the edge's clicks are missing; below 0 too many are
// there: an edge that lost its journal, and begins to count anew, has rows from before.
func (e Edge) Difference() int64 { return e.Accepted - e.Dropped - e.Waiting - e.Rows }

// Topic is the clicks topic's account, from its first record to the last.
type Topic struct {
	Whole     bool  // no record has been removed by retention
	Records   int64 // committed ones
	Pending   int64 // of these behind the group's offsets
	Dead      int64 // records in the dead topic, each source counted once
	Malformed int64 // dead records that do not say where they come from
}

// Store is ClickHouse's account.
type Store struct {
	Rows       int64
	Duplicates int64            // rows whose click is there already
	Rollups    map[string]int64 // clicks that a rollup holds, by its name
	Expires    bool             // clicks are removed after a time
}

// Ledger is everything together.
type Ledger struct {
	Edges []Edge
	Topic Topic
	Store Store
}

// Problems says what does not add up: nothing when all is well.
func (l Ledger) Problems() []error {
	var out []error
	for _, e := range l.Edges {
		if e.Waiting > 0 {
			out = append(out, fmt.Errorf("edge %s: %d clicks wait in its journal", e.Name, e.Waiting))
		}
		switch d := e.Difference(); {
		case d > 0:
			out = append(out, fmt.Errorf("edge %s: %d clicks that were accepted are not in ClickHouse", e.Name, d))
		case d < 0:
			out = append(out, fmt.Errorf("edge %s: %d clicks more in ClickHouse than were accepted and not dropped", e.Name, -d))
		}
	}
	if l.Topic.Pending > 0 {
		out = append(out, fmt.Errorf("topic: %d records have not been ingested yet", l.Topic.Pending))
	}
	if l.Topic.Whole && !l.Store.Expires {
		if d := l.Topic.Records - l.Topic.Pending - l.Topic.Dead - l.Store.Rows; d != 0 {
			out = append(out, fmt.Errorf("topic: of %d records %d are ingested or dead and not accounted for", l.Topic.Records, d))
		}
	}
	if l.Topic.Malformed > 0 {
		out = append(out, fmt.Errorf("dead topic: %d records without their source", l.Topic.Malformed))
	}
	if l.Store.Duplicates > 0 {
		out = append(out, fmt.Errorf("ClickHouse: %d rows are there twice", l.Store.Duplicates))
	}
	if !l.Store.Expires {
		for name, clicks := range l.Store.Rollups {
			if clicks != l.Store.Rows {
				out = append(out, fmt.Errorf("ClickHouse: %s holds %d clicks, the table %d", name, clicks, l.Store.Rows))
			}
		}
	}
	return out
}

// Settled says whether nothing is on its way: before that problems may be only a
// matter of time.
func (l Ledger) Settled() bool {
	for _, e := range l.Edges {
		if e.Difference() > 0 || e.Waiting > 0 {
			return false
		}
	}
	return l.Topic.Pending == 0
}

// ErrDoesNotAddUp is what Write's error is, and what makes the command fail.
var ErrDoesNotAddUp = errors.New("the ledger does not add up")

// Write prints the accounts and the verdict, and returns ErrDoesNotAddUp with the
// problems when there are any.
func (l Ledger) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "edge\tsince\taccepted\tdropped\twaiting\tin ClickHouse\tdifference\t")
	for _, e := range l.Edges {
		since := "its journal's birth"
		if !e.Since.IsZero() {
			since = e.Since.UTC().Format(time.DateTime)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t\n", e.Name, since, e.Accepted, e.Dropped, e.Waiting, e.Rows, e.Difference())
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w, "topic\trecords\tpending\tdead\tin ClickHouse\tdifference\t")
	difference := "-"
	if l.Topic.Whole && !l.Store.Expires {
		difference = strconv.FormatInt(l.Topic.Records-l.Topic.Pending-l.Topic.Dead-l.Store.Rows, 10)
	}
	fmt.Fprintf(w, "\t%d\t%d\t%d\t%d\t%s\t\n", l.Topic.Records, l.Topic.Pending, l.Topic.Dead, l.Store.Rows, difference)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the ledger: %w", err)
	}
	fmt.Fprintln(out)
	if difference == "-" {
		fmt.Fprintln(out, "topic and table are not compared: one of them has lost its beginning to retention")
	}
	problems := l.Problems()
	if len(problems) == 0 {
		fmt.Fprintln(out, "the ledger adds up")
		return nil
	}
	return fmt.Errorf("%w:\n%w", ErrDoesNotAddUp, errors.Join(problems...))
}
