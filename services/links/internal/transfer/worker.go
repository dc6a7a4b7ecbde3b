package transfer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

const (
	// lease is how long a worker that says nothing is believed to be at work: after it
	// another takes over. Each chunk renews it.
	lease = 15 * time.Second

	// turn is how many chunks a job gets before the next one has its turn.
	turn = 8

	// pollEvery is how often a worker looks for jobs that another process took.
	pollEvery = time.Second

	// chunkTimeout bounds one transaction; it takes a tenth of a second.
	chunkTimeout = 10 * time.Second

	// planTries is how often rows are planned anew because somebody took their slugs.
	planTries = 5
)

// Work makes the links of jobs until ctx is done. Several processes and tasks may work at
// the same time, on a job each. A store that is away is no error.
func (i *Importer) Work(ctx context.Context) error {
	worker, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("making an id: %w", err)
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		busy, err := i.workOnce(ctx, worker)
		if err != nil && ctx.Err() == nil && !errors.Is(err, link.ErrUnavailable) {
			i.log.WarnContext(ctx, "import interrupted", "err", err)
		}
		if busy && err == nil && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-i.arrived:
		}
	}
}

// workOnce gives one job its turn. It says whether there was one.
func (i *Importer) workOnce(ctx context.Context, worker uuid.UUID) (busy bool, err error) {
	asking, cancel := context.WithTimeout(ctx, storeTimeout)
	j, err := i.store.ClaimImport(asking, worker, lease)
	cancel()
	if err != nil || j == nil {
		return false, err
	}
	for range turn {
		done, err := i.step(ctx, worker, j)
		switch {
		case errors.Is(err, ErrLost):
			return true, nil
		case err != nil:
			i.release(ctx, worker, j)
			return true, fmt.Errorf("import %s: %w", j.ID, err)
		case done:
			return true, nil
		case ctx.Err() != nil:
			i.release(ctx, worker, j)
			return true, nil //nolint:nilerr // told to stop between two chunks
		}
	}
	i.release(ctx, worker, j)
	return true, nil
}

// release is a courtesy: without it the lease ends by itself.
func (i *Importer) release(ctx context.Context, worker uuid.UUID, j *Job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	_ = i.store.ReleaseImport(ctx, j.ID, worker)
}

// step makes the next rows of a job. It says whether all are done.
func (i *Importer) step(ctx context.Context, worker uuid.UUID, j *Job) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, chunkTimeout)
	defer cancel()
	part, err := i.store.NextRows(ctx, j.ID)
	if err != nil {
		return false, err
	}
	if part == nil {
		return true, i.store.FinishImport(ctx, j.ID, worker)
	}
	err = i.makePart(ctx, worker, j, part.Chunk, part.Rows)
	if err == nil || errors.Is(err, ErrLost) || errors.Is(err, link.ErrUnavailable) || ctx.Err() != nil {
		return false, err
	}
	// A fault that none of the rules knows about: it fails its own row and nobody else's.
	i.log.WarnContext(ctx, "rows of an import made one by one", "import", j.ID.String(), "chunk", part.Chunk, "err", err)
	if err = i.makePart(ctx, worker, j, part.Chunk, part.Rows[:1]); err == nil || errors.Is(err, ErrLost) || errors.Is(err, link.ErrUnavailable) || ctx.Err() != nil {
		return false, err
	}
	return false, i.store.MakeRows(ctx, j, worker, lease, part.Chunk, nil, func([]link.Outcome) (Progress, error) {
		var r report
		r.refused(&part.Rows[0], err, j.OnConflict)
		return r.progress(), nil
	})
}

func (r *report) progress() Progress {
	return Progress{Rows: r.n, Report: string(r.text), Counts: r.Counts}
}

// makePart makes the links of rows. Rows whose slug is taken while they are planned are
// planned again.
func (i *Importer) makePart(ctx context.Context, worker uuid.UUID, j *Job, chunk int, rows []Row) error {
	for range planTries {
		plans, err := i.plan(ctx, j, rows)
		if err != nil {
			return err
		}
		var wanted []link.New
		for _, p := range plans {
			if p.err == nil {
				wanted = append(wanted, link.New{WorkspaceID: j.WorkspaceID, ID: p.id, Checked: p.checked})
			}
		}
		err = i.store.MakeRows(ctx, j, worker, lease, chunk, wanted, func(outcomes []link.Outcome) (Progress, error) {
			return settle(j, plans, outcomes)
		})
		if !errors.Is(err, ErrAgain) {
			return err
		}
	}
	return fmt.Errorf("finding free slugs: %w", ErrAgain)
}

// plan is what shall become of a row.
type plan struct {
	row *Row
	id  link.ID
	// err is why it becomes no link: a fault of the row, or of its fields.
	err     error
	checked *link.Checked
	change  link.Change
}

// settle tells what became of the rows, in their order.
func settle(j *Job, plans []*plan, outcomes []link.Outcome) (Progress, error) {
	var r report
	for _, p := range plans {
		switch {
		case p.row.Fault != nil:
			r.fault(p.row, p.row.Fault)
			continue
		case p.err != nil:
			r.refused(p.row, p.err, j.OnConflict)
			continue
		}
		outcome := outcomes[0]
		outcomes = outcomes[1:]
		switch {
		case outcome.Err == nil:
			r.made(p.row, outcome.Link, j.DryRun)
		case j.OnConflict == Rename && errors.Is(outcome.Err, link.ErrSlugTaken):
			return Progress{}, ErrAgain
		default:
			r.refused(p.row, outcome.Err, j.OnConflict)
		}
	}
	return r.progress(), nil
}

// plan checks rows and, where taken slugs are renamed, finds free ones.
func (i *Importer) plan(ctx context.Context, j *Job, rows []Row) ([]*plan, error) {
	plans := make([]*plan, len(rows))
	var named []*plan
	for n := range rows {
		p := &plan{row: &rows[n]}
		plans[n] = p
		if p.row.Fault != nil {
			p.err = errFault
			continue
		}
		if p.change, p.err = i.read(p.row.Link); p.err == nil {
			p.checked, p.err = i.rules.CheckNew(p.change)
		}
		if p.err != nil {
			continue
		}
		var err error
		if p.id, err = link.NewID(); err != nil {
			return nil, fmt.Errorf("making an id: %w", err)
		}
		if p.checked.Slug().Set {
			named = append(named, p)
		}
	}
	if j.OnConflict != Rename || len(named) == 0 {
		return plans, nil
	}
	return plans, i.rename(ctx, j, named)
}

// errFault marks a row that could not be read; its Fault says why.
var errFault = errors.New("the row cannot be read")

// variants is how many slugs are tried beside the one that is asked for: slug-2 to
// slug-9. After them the slug is generated.
const variants = 8

// rename gives plans whose slug is taken, by a link or by a row before, a free one.
func (i *Importer) rename(ctx context.Context, j *Job, named []*plan) error {
	places := make([]Place, 0, len(named)*(variants+1))
	for _, p := range named {
		host := i.defaultDomain
		if d := p.checked.Domain(); d.Set {
			host = d.Value
		}
		slug := p.checked.Slug().Value
		places = append(places, Place{Host: host, Slug: slug})
		for n := range variants {
			places = append(places, Place{Host: host, Slug: fmt.Sprintf("%s-%d", slug, n+2)})
		}
	}
	there, err := i.store.Occupants(ctx, j.ID, places)
	if err != nil {
		return err
	}
	claimed := map[string]bool{}
	for n, p := range named {
		at := n * (variants + 1)
		for try := range variants + 1 {
			o := there[at+try]
			if o.Key == "" { // the domain is unknown, which the store says
				break
			}
			if !o.Taken && !claimed[o.Key] && i.takes(p, places[at+try].Slug) {
				claimed[o.Key] = true
				break
			}
			if try == variants {
				p.change.Slug = link.Optional[string]{}
				p.checked, p.err = i.rules.CheckNew(p.change)
			}
		}
	}
	return nil
}

// takes gives a plan a slug, if the rules take it.
func (i *Importer) takes(p *plan, slug string) bool {
	if slug == p.change.Slug.Value {
		return true
	}
	change := p.change
	change.Slug = link.Some(slug)
	checked, err := i.rules.CheckNew(change)
	if err != nil {
		return false
	}
	p.checked = checked
	return true
}
