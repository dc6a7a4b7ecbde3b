package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

// Limits of one file.
const (
	// MaxBytes is what a file may have, and MaxRows how many rows.
	MaxBytes = 100 << 20
	MaxRows  = 1_000_000

	// MaxOpen is how many imports of a workspace may be under way. It stands in for a rate
	// limit: a file costs one request, whatever its rows.
	MaxOpen = 3

	// chunkRows and chunkBytes bound what is made in one transaction: an advisory lock for
	// each row, and texts of some hundred kilobytes.
	chunkRows  = 250
	chunkBytes = 512 << 10

	// maxRow bounds a row in bytes, so that a quote that is never closed is found early.
	// The longest link has 24,000 bytes of targets and 64 KiB of rules and variants each.
	maxRow = 256 << 10
)

// Limits are what one file may have.
type Limits struct{ Bytes, Rows int64 }

// What can go wrong with an import as a whole.
var (
	// ErrNotFound: the workspace has no such import.
	ErrNotFound = errors.New("no such import")
	// ErrTooMany: MaxOpen imports of the workspace are under way.
	ErrTooMany = errors.New("too many imports are under way")
	// ErrTooLarge: the file has more bytes or rows than it may.
	ErrTooLarge = errors.New("the file is too large")
	// ErrLost: another worker has taken over, or the import was cancelled.
	ErrLost = errors.New("the import is somebody else's now")
	// ErrAgain: a slug that looked free was taken meanwhile; the rows have to be planned again.
	ErrAgain = errors.New("an address was taken meanwhile")
)

// FileError says why a file is none that can be imported.
type FileError string

// Error implements error.
func (e FileError) Error() string { return string(e) }

// State says how far a job is. The list is closed.
type State string

// The states of a job. Uploading, queued and running jobs are open.
const (
	Uploading State = "uploading"
	Queued    State = "queued"
	Running   State = "running"
	Done      State = "done"
	Cancelled State = "cancelled"
)

// Conflict says what becomes of a row whose slug is taken.
type Conflict string

// A row whose slug is taken is passed over, counts as a failure, or gets another slug.
const (
	Skip   Conflict = "skip"
	Fail   Conflict = "fail"
	Rename Conflict = "rename"
)

// Options are what the caller says about a file.
type Options struct {
	Format Format
	// Domain is the host on which all links are made; empty leaves it to the rows.
	Domain     string
	OnConflict Conflict
	// DryRun makes nothing and reports what would be made.
	DryRun bool
}

// Counts say how many rows have ended how. Created includes Renamed.
type Counts struct{ Created, Renamed, Skipped, Failed int64 }

// Read is how many rows have been looked at.
func (c Counts) Read() int64 { return c.Created + c.Skipped + c.Failed }

// Job is one import.
type Job struct {
	ID, WorkspaceID uuid.UUID
	Options
	State State
	// Charset is what the text was taken for.
	Charset string
	// Ignored are the names of columns that nothing was read from.
	Ignored []string
	// Total is how many rows the file has, known once it is uploaded.
	Total int64
	Counts
	CreatedAt, UpdatedAt time.Time
	FinishedAt           *time.Time
}

// Row is a row of the file on its way to a link.
type Row struct {
	// Number is as a spreadsheet counts: the line of names is 1. In JSON lines it is the
	// number of the line.
	Number int64 `json:"n"`
	// Slug is as the file has it, for the report.
	Slug string `json:"s,omitempty"`
	// Link is the row as the body of a call that creates a link; nil with a Fault.
	Link  json.RawMessage `json:"l,omitempty"`
	Fault *Fault          `json:"f,omitempty"`
}

// Fault is why a row cannot become a link.
type Fault struct {
	Reason link.Code `json:"c"`
	Detail string    `json:"d"`
}

// Part is rows that are made in one transaction: those of a chunk that are not done.
type Part struct {
	Chunk, Done, Size int
	Rows              []Row
}

// Progress is what a transaction notes beside the links that it makes.
type Progress struct {
	// Rows is how many rows of the part are done.
	Rows   int
	Report string
	Counts
}

// Place asks for an address, Occupant tells what is there.
type Place struct{ Host, Slug string }

// Occupant is what lives at an address. Key is the same for all spellings of it; it is
// empty when the domain is unknown.
type Occupant struct {
	Key   string
	Taken bool
}

// EncodeRows writes rows in the form in which they are stored.
func EncodeRows(rows []Row) (string, error) {
	text, err := json.Marshal(rows)
	if err != nil {
		return "", fmt.Errorf("encoding rows: %w", err)
	}
	return string(text), nil
}

// DecodeRows reads what EncodeRows wrote.
func DecodeRows(text string) ([]Row, error) {
	var rows []Row
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, fmt.Errorf("decoding rows: %w", err)
	}
	return rows, nil
}
