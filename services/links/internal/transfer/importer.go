package transfer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

const (
	// storeTimeout bounds one question to the store.
	storeTimeout = 5 * time.Second

	// forgetAfter is how long a job and its report are kept once it is over.
	forgetAfter = 30 * 24 * time.Hour
	// abandonAfter is when an upload that has stored nothing more is taken for dead.
	abandonAfter = 15 * time.Minute
	// forgetEvery is how often both are looked for.
	forgetEvery = time.Minute
)

// store keeps jobs with their rows. Its errors are link.ErrUnavailable and those that are
// named.
type store interface {
	// StartImport stores a job that is being uploaded, or returns ErrTooMany. One that an
	// earlier try of the same request has made is found, and begun anew if its upload
	// never ended.
	StartImport(ctx context.Context, j *Job) (found bool, err error)
	// AddRows stores a chunk of its rows.
	AddRows(ctx context.Context, id uuid.UUID, chunk int, rows []Row) error
	// QueueImport ends the upload; ErrLost when the job is not being uploaded any more.
	QueueImport(ctx context.Context, id uuid.UUID, f File) error
	// DropImport deletes a job whose upload failed.
	DropImport(ctx context.Context, id uuid.UUID) error
	// Import returns a job of the workspace, or ErrNotFound.
	Import(ctx context.Context, workspace, id uuid.UUID) (*Job, error)
	// Imports returns jobs of the workspace with ids before one, newest first.
	Imports(ctx context.Context, workspace, before uuid.UUID, limit int) ([]Job, error)
	// CancelImport ends an open job; one that is over stays as it is. ErrNotFound.
	CancelImport(ctx context.Context, workspace, id uuid.UUID) error
	// ImportReport returns the reports of some chunks from one on, and the next one, which
	// is 0 after the last.
	ImportReport(ctx context.Context, id uuid.UUID, from int) (report []string, next int, err error)
	// ForgetImports deletes jobs that are over or were abandoned.
	ForgetImports(ctx context.Context, after, abandoned time.Duration) error

	// ClaimImport gives a job that nobody works on to a worker until the lease is over;
	// nil when there is none.
	ClaimImport(ctx context.Context, worker uuid.UUID, lease time.Duration) (*Job, error)
	// NextRows returns rows that are not done, nil when all are.
	NextRows(ctx context.Context, id uuid.UUID) (*Part, error)
	// Occupants says what lives at addresses; with a job also what its earlier rows would
	// have taken.
	Occupants(ctx context.Context, job uuid.UUID, places []Place) ([]Occupant, error)
	// MakeRows makes links and notes the progress that settle returns, in one transaction;
	// when settle fails nothing is made. A dry run notes only what would be. It returns
	// ErrLost, ErrAgain, or what settle returned.
	MakeRows(ctx context.Context, j *Job, worker uuid.UUID, lease time.Duration, chunk int, rows []link.New, settle func([]link.Outcome) (Progress, error)) error
	// FinishImport ends a job whose rows are all done. ErrLost.
	FinishImport(ctx context.Context, id, worker uuid.UUID) error
	// ReleaseImport lets another worker have the job at once.
	ReleaseImport(ctx context.Context, id, worker uuid.UUID) error
}

// Reader reads the body of a call that creates a link. Its error is link.FieldErrors.
type Reader func(body []byte) (link.Change, error)

// Importer takes files and makes their links. It is safe for concurrent use.
type Importer struct {
	store store
	rules *link.Rules
	read  Reader
	// defaultDomain is the host of rows that name none.
	defaultDomain string
	limits        Limits
	log           *slog.Logger
	// arrived wakes a worker of this process.
	arrived chan struct{}
}

// New returns an importer over a store. defaultDomain is a host in normal form.
func New(s store, rules *link.Rules, read Reader, defaultDomain string, limits Limits, log *slog.Logger) *Importer {
	return &Importer{store: s, rules: rules, read: read, defaultDomain: defaultDomain, limits: limits, log: log, arrived: make(chan struct{}, 1)}
}

// Upload reads a file and stores its rows as a job with an id: the same for every try of
// one request, so that the file is imported once. It fails with FileError, ErrTooLarge,
// ErrTooMany, link.FieldErrors, link.ErrUnavailable, or what the file's reader says; then
// there is no job.
func (i *Importer) Upload(ctx context.Context, workspace, id uuid.UUID, o Options, file io.Reader) (*Job, error) {
	if o.Domain != "" {
		host, ok := link.ParseHost(o.Domain)
		if !ok {
			return nil, link.FieldErrors{{Field: "domain", Code: link.CodeUnknownDomain, Detail: "there is no such domain in this workspace"}}
		}
		o.Domain = host
	}
	j := &Job{ID: id, WorkspaceID: workspace, Options: o, State: Uploading}
	switch found, err := i.store.StartImport(ctx, j); {
	case err != nil:
		return nil, err
	case found:
		return i.store.Import(ctx, workspace, id)
	}
	known, err := Split(ctx, file, o, i.limits, func(chunk int, rows []Row) error {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		return i.store.AddRows(ctx, id, chunk, rows)
	})
	for n, name := range known.Ignored {
		known.Ignored[n] = storable(name)
	}
	if err == nil {
		err = i.store.QueueImport(ctx, id, known)
	}
	if err != nil {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		if err := i.store.DropImport(after, id); err != nil { // it is deleted as abandoned later
			i.log.WarnContext(ctx, "failed upload not deleted", "err", err)
		}
		return nil, err
	}
	select {
	case i.arrived <- struct{}{}:
	default:
	}
	return i.store.Import(ctx, workspace, id)
}

// Find returns a job of the workspace, ErrNotFound or link.ErrUnavailable.
func (i *Importer) Find(ctx context.Context, workspace, id uuid.UUID) (*Job, error) {
	return i.store.Import(ctx, workspace, id)
}

// List returns at most limit jobs of the workspace with ids before one, newest first. It
// fails with link.ErrUnavailable.
func (i *Importer) List(ctx context.Context, workspace, before uuid.UUID, limit int) ([]Job, error) {
	return i.store.Imports(ctx, workspace, before, limit)
}

// Cancel ends a job: rows that are not made yet never are. It fails with ErrNotFound or
// link.ErrUnavailable.
func (i *Importer) Cancel(ctx context.Context, workspace, id uuid.UUID) error {
	return i.store.CancelImport(ctx, workspace, id)
}

// Report writes what became of the rows so far, in their order, as CSV.
func (i *Importer) Report(ctx context.Context, id uuid.UUID, w io.Writer) error {
	if _, err := w.Write(reportHead()); err != nil {
		return err
	}
	for from := 0; ; {
		asking, cancel := context.WithTimeout(ctx, storeTimeout)
		parts, next, err := i.store.ImportReport(asking, id, from)
		cancel()
		if err != nil {
			return err
		}
		for _, p := range parts {
			if _, err := io.WriteString(w, p); err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		from = next
	}
}

// Forget deletes what is over, every minute, until ctx is done.
func (i *Importer) Forget(ctx context.Context) error {
	tick := time.NewTicker(forgetEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := i.store.ForgetImports(ctx, forgetAfter, abandonAfter); err != nil && ctx.Err() == nil && !errors.Is(err, link.ErrUnavailable) {
			i.log.WarnContext(ctx, "old imports not deleted", "err", err)
		}
	}
}

// storable is a text that Postgres takes: it has no NUL.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
