package sink

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// span is a range of offsets of one partition, from inclusive, to exclusive.
type span struct{ from, to int64 }

// Topic is the topic that is read. Its id changes when the topic is made anew,
// which is what keeps the offsets of a new topic apart from those of the old one.
type Topic struct {
	Name string
	ID   [16]byte
}

// notePrefix begins every note, so that the metadata which other clients write
// (franz-go's default is the member id) is not taken for one; noteVersion is the
// first field of those that this release writes, and noteVersion1 of those that the
// one before wrote, which do not say when.
const (
	notePrefix   = "insert-"
	noteVersion1 = notePrefix + "1"
	noteVersion  = notePrefix + "2"
)

// note is what is written into the group's offset metadata before a range is
// inserted: "insert-2 TOPIC-ID TO MILLISECONDS". Its beginning is the committed
// offset itself. The time is what clocks that are ahead are measured by: the range
// has to become the same rows again.
func (t Topic) note(n noted) string {
	return noteVersion + " " + hex.EncodeToString(t.ID[:]) + " " + strconv.FormatInt(n.to, 10) + " " + strconv.FormatInt(n.at.UnixMilli(), 10)
}

// noted is a range with the time of its note.
type noted struct {
	span
	at time.Time // whole milliseconds
}

// errForeignNote says that a note belongs to a topic of the same name that is gone.
var errForeignNote = errors.New("the note belongs to another topic")

// readNote returns the range that was about to be inserted when the offset was
// committed, or nil when none was. It is an error when there is a note that
// cannot be understood: guessing could count clicks twice.
func (t Topic) readNote(committed int64, metadata string) (*noted, error) {
	if committed < 0 || !strings.HasPrefix(metadata, notePrefix) {
		return nil, nil //nolint:nilnil // no note is an ordinary answer
	}
	fields := strings.Fields(metadata)
	known := len(fields) == 4 && fields[0] == noteVersion || len(fields) == 3 && fields[0] == noteVersion1
	if !known {
		return nil, fmt.Errorf("reading the note %q: want %q and three fields", metadata, noteVersion)
	}
	if fields[1] != hex.EncodeToString(t.ID[:]) {
		return nil, errForeignNote
	}
	to, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || to <= committed {
		return nil, fmt.Errorf("reading the note %q at offset %d: the range's end is wrong", metadata, committed)
	}
	out := &noted{span{from: committed, to: to}, time.UnixMilli(maxTimeUnixMilli)} // version 1 believed every clock
	if len(fields) == 4 {
		at, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil || at <= 0 || at > maxTimeUnixMilli {
			return nil, fmt.Errorf("reading the note %q: the time is wrong", metadata)
		}
		out.at = time.UnixMilli(at)
	}
	return out, nil
}

// maxTimeUnixMilli is 2100-01-01, after which no click is accepted.
const maxTimeUnixMilli = 4_102_444_800_000

// attempts bounds the tokens that are tried for one range. MergeTree writes a token
// into its log before it gives the part its name, so a server that is killed in
// between remembers the token and does not have the rows, and drops every later
// insert under that token (seen in about one of a hundred kills under load). A
// repeated insert is therefore looked up afterwards, and what is missing is inserted
// under the range's next token. Each token takes another kill in the same instant.
const attempts = 5

// attemptToken is the token of the n-th attempt, from 0. Every owner of a range goes
// through the same tokens in the same order.
func attemptToken(token string, n int) string {
	if n == 0 {
		return token
	}
	return token + "/" + strconv.Itoa(n)
}

// token names an insert for ClickHouse: the same range has the same token
// whoever inserts it, and no other range ever has it. The views of the rollups read
// it (see migrations/clickhouse/00011_clicks_by_link_view.sql).
func (t Topic) token(partition int32, s span) string {
	return fmt.Sprintf("%s/%s/%d-%d", t.Name, t.partition(partition), s.from, s.to)
}

// partition is how receipts name a partition.
func (t Topic) partition(n int32) string {
	return hex.EncodeToString(t.ID[:]) + "/" + strconv.Itoa(int(n))
}
