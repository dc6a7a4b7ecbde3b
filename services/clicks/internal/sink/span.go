package sink

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
// first field of those that this release understands.
const (
	notePrefix  = "insert-"
	noteVersion = notePrefix + "1"
)

// note is what is written into the group's offset metadata before a range is
// inserted: "insert-1 TOPIC-ID TO". Its beginning is the committed offset itself.
func (t Topic) note(s span) string {
	return noteVersion + " " + hex.EncodeToString(t.ID[:]) + " " + strconv.FormatInt(s.to, 10)
}

// errForeignNote says that a note belongs to a topic of the same name that is gone.
var errForeignNote = errors.New("the note belongs to another topic")

// readNote returns the range that was about to be inserted when the offset was
// committed, or nil when none was. It is an error when there is a note that
// cannot be understood: guessing could count clicks twice.
func (t Topic) readNote(committed int64, metadata string) (*span, error) {
	if committed < 0 || !strings.HasPrefix(metadata, notePrefix) {
		return nil, nil //nolint:nilnil // no note is an ordinary answer
	}
	fields := strings.Fields(metadata)
	if len(fields) != 3 || fields[0] != noteVersion {
		return nil, fmt.Errorf("reading the note %q: want %q and two fields", metadata, noteVersion)
	}
	if fields[1] != hex.EncodeToString(t.ID[:]) {
		return nil, errForeignNote
	}
	to, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || to <= committed {
		return nil, fmt.Errorf("reading the note %q at offset %d: the range's end is wrong", metadata, committed)
	}
	return &span{from: committed, to: to}, nil
}

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
// whoever inserts it, and no other range ever has it.
func (t Topic) token(partition int32, s span) string {
	return fmt.Sprintf("%s/%s/%d/%d-%d", t.Name, hex.EncodeToString(t.ID[:]), partition, s.from, s.to)
}
