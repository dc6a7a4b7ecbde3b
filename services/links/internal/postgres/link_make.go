package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

const (
	// generateTries bounds the draws of a generated slug. The second is needed once
	// in millions; five in a row mean that the generator is broken.
	generateTries = 5

	// bulkRows bounds how many links of one call share a transaction.
	bulkRows = 500

	// bulkTransactions of them run at the same time. With two locks for a link at most
	// they hold 2,000, beside some 1,600 of combined single creations; a server with
	// Postgres's own settings has room for 6,400.
	bulkTransactions = 2

	// bulkTimeout bounds one of them, which takes a twentieth of a second. A database that
	// hangs ends the call with the first.
	bulkTimeout = 3500 * time.Millisecond
)

// Create stores a new link and the record of its creation. It fails with
// link.FieldErrors, link.ErrSlugTaken or link.ErrUnavailable.
func (s *Store) Create(ctx context.Context, workspace uuid.UUID, c *link.Checked) (*link.Link, error) {
	id, err := link.NewID()
	if err != nil {
		return nil, fmt.Errorf("making an id: %w", err)
	}
	outcome := s.Make(ctx, link.New{WorkspaceID: workspace, ID: id, Checked: c})
	return outcome.Link, outcome.Err
}

// Make makes or finds one link. Its error is one of link.FieldErrors,
// link.ErrSlugTaken and link.ErrUnavailable.
func (s *Store) Make(ctx context.Context, n link.New) link.Outcome { return s.single.create(ctx, n) }

// MakeMany makes or finds links, in order: of two with the same address in one call
// the first gets it. One that fails does so alone, with an error as of Make.
func (s *Store) MakeMany(ctx context.Context, rows []link.New) []link.Outcome {
	outcomes := make([]link.Outcome, 0, len(rows))
	var away error
	for part := range slices.Chunk(rows, bulkRows) {
		if away == nil {
			select {
			case s.bulk <- struct{}{}:
				var made []link.Outcome
				made, away = s.makePart(ctx, part)
				<-s.bulk
				outcomes = append(outcomes, made...)
				continue
			case <-ctx.Done():
				away = fmt.Errorf("%w: %w", link.ErrUnavailable, ctx.Err())
			}
		}
		for range part {
			outcomes = append(outcomes, link.Outcome{Err: away})
		}
	}
	return outcomes
}

// makePart makes the links of one transaction. It says when the database did not answer
// in time, so that nobody waits for the next one, too.
func (s *Store) makePart(ctx context.Context, part []link.New) (outcomes []link.Outcome, away error) {
	bounded, cancel := context.WithTimeout(ctx, bulkTimeout)
	defer cancel()
	outcomes = s.makeLinks(bounded, part)
	if bounded.Err() != nil {
		for _, o := range outcomes {
			if errors.Is(o.Err, link.ErrUnavailable) {
				return outcomes, o.Err
			}
		}
	}
	return outcomes, nil
}

// draft is a link on its way.
type draft struct {
	link.New
	outcome *link.Outcome
	link    *link.Link
	// generated says that another slug would do as well.
	generated bool
}

// makeLinks runs transactions of many links until each has its outcome.
func (s *Store) makeLinks(ctx context.Context, rows []link.New) []link.Outcome {
	outcomes := make([]link.Outcome, len(rows))
	pending := make([]*draft, len(rows))
	for i := range rows {
		pending[i] = &draft{New: rows[i], outcome: &outcomes[i]}
	}
	for range generateTries {
		pending = s.makeAll(ctx, pending)
		if len(pending) == 0 {
			return outcomes
		}
	}
	for _, d := range pending {
		d.outcome.Err = fmt.Errorf("generating a slug: %d in a row were taken", generateTries)
	}
	return outcomes
}

// makeAll makes all drafts in one transaction and returns those whose generated slug
// was taken. A fault that none of the rules knows about fails the whole transaction;
// then each draft is tried alone, so that it fails nobody else.
func (s *Store) makeAll(ctx context.Context, drafts []*draft) (again []*draft) {
	err := s.inTx(ctx, func(tx pgx.Tx) (err error) {
		again, err = s.makeIn(ctx, tx, drafts)
		return err
	})
	switch {
	case err == nil:
		return again
	case len(drafts) == 1, errors.Is(err, link.ErrUnavailable), ctx.Err() != nil:
		for _, d := range drafts {
			*d.outcome = link.Outcome{Err: err}
		}
		return nil
	}
	again = nil
	for _, d := range drafts {
		again = append(again, s.makeAll(ctx, []*draft{d})...)
	}
	return again
}

// makeIn writes the drafts' outcomes; they hold once the transaction is committed.
func (s *Store) makeIn(ctx context.Context, tx pgx.Tx, drafts []*draft) ([]*draft, error) {
	known, err := s.domainsOf(ctx, tx, drafts)
	if err != nil {
		return nil, err
	}
	var sound []*draft
	for _, d := range drafts {
		*d.outcome = link.Outcome{}
		if d.outcome.Err = s.prepare(d, known); d.outcome.Err == nil {
			sound = append(sound, d)
		}
	}
	if len(sound) == 0 {
		return nil, nil
	}
	there, err := lockAndLook(ctx, tx, sound)
	if err != nil {
		return nil, err
	}
	fresh, again := there.decide(sound)
	return again, insert(ctx, tx, fresh)
}

func (s *Store) domainsOf(ctx context.Context, tx pgx.Tx, drafts []*draft) (domains, error) {
	hosts := map[string]bool{}
	for _, d := range drafts {
		hosts[s.hostOf(d.Checked)] = true
		for _, host := range d.Checked.Hosts() {
			hosts[host] = true
		}
	}
	return readDomains(ctx, tx, slices.Collect(maps.Keys(hosts)))
}

func (s *Store) hostOf(c *link.Checked) string {
	if d := c.Domain(); d.Set {
		return d.Value
	}
	return s.defaultDomain
}

// prepare fills in the link of a draft as far as that needs no lock.
func (s *Store) prepare(d *draft, known domains) error {
	slug := d.Checked.Slug()
	if d.generated = !slug.Set; d.generated {
		var err error
		if slug.Value, err = link.GenerateSlug(); err != nil {
			return err
		}
	}
	d.link = &link.Link{
		ID: d.ID, WorkspaceID: d.WorkspaceID, Slug: slug.Value, Tags: []string{}, StatusCode: link.DefaultStatus, ForwardQuery: link.ForwardOff,
	}
	if err := d.Checked.Apply(d.link); err != nil {
		return err
	}
	d.link.Version = 1 // the change is applied to what was before
	domain, err := known.targets(d.WorkspaceID, s.hostOf(d.Checked), d.Checked)
	d.link.Domain, d.link.SlugKey = domain, domain.SlugKey(slug.Value)
	return err
}

// insert stores links and the records of their creation.
func insert(ctx context.Context, tx pgx.Tx, fresh []*draft) error {
	if len(fresh) == 0 {
		return nil
	}
	var c linkColumns
	created := make([]*link.Link, len(fresh))
	for i, d := range fresh {
		if err := c.add(d.link); err != nil {
			return err
		}
		created[i] = d.link
	}
	textID, err := readTexts(ctx, tx, fresh)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	c.queueInsert(batch, textID)
	if err := queueCreated(ctx, batch, created); err != nil {
		return err
	}
	return tx.SendBatch(ctx, batch).Close()
}

// linkColumns are links turned on their side: one array for each column.
type linkColumns struct {
	// Not uuid.UUID, which the driver would write as text and parse again.
	ids, workspaces, domains       [][16]byte
	slugs, slugKeys, destinations  []string
	titles, notes, tags, fallbacks []string
	forwards                       []string
	statusCodes                    []int16
	startsAt, expiresAt            []*time.Time
	archived, disabled             []bool
	limits, limitsSince            []*int64
	passwords, options             []*string
	unlockKeys                     [][]byte
	versions, revisions            []int64
	createdAt, updatedAt           []time.Time
}

func (c *linkColumns) add(l *link.Link) error {
	options, err := optionsText(&l.Options)
	if err != nil {
		return err
	}
	limit, since := limitColumns(l)
	hash, unlockKey := passwordColumns(l)
	c.options, c.limits, c.limitsSince = append(c.options, options), append(c.limits, limit), append(c.limitsSince, since)
	c.passwords, c.unlockKeys, c.disabled = append(c.passwords, hash), append(c.unlockKeys, unlockKey), append(c.disabled, l.Disabled)
	c.ids, c.workspaces, c.domains = append(c.ids, l.ID.UUID), append(c.workspaces, l.WorkspaceID), append(c.domains, l.Domain.ID)
	c.slugs, c.slugKeys, c.destinations = append(c.slugs, l.Slug), append(c.slugKeys, l.SlugKey), append(c.destinations, l.Destination)
	c.titles, c.notes, c.tags = append(c.titles, l.Title), append(c.notes, l.Notes), append(c.tags, arrayText(l.Tags))
	c.fallbacks, c.forwards = append(c.fallbacks, l.FallbackURL), append(c.forwards, string(l.ForwardQuery))
	c.statusCodes = append(c.statusCodes, int16(l.StatusCode)) //nolint:gosec // 301 to 308
	c.startsAt, c.expiresAt = append(c.startsAt, l.StartsAt), append(c.expiresAt, l.ExpiresAt)
	c.archived = append(c.archived, l.Archived)
	c.versions, c.revisions = append(c.versions, int64(l.Version)), append(c.revisions, int64(l.Revision)) //nolint:gosec // from bigint columns
	c.createdAt, c.updatedAt = append(c.createdAt, l.CreatedAt), append(c.updatedAt, l.UpdatedAt)
	return nil
}

// queueInsert inserts the links, whose texts have been read together at textID.
func (c *linkColumns) queueInsert(batch *pgx.Batch, textID *int64) {
	batch.Queue(`INSERT INTO links (id, workspace_id, domain_id, slug, slug_key, destination, title, notes, tags,
			status_code, starts_at, expires_at, fallback_url, archived, version, revision, created_at, updated_at, forward_query,
			disabled, max_clicks, max_clicks_since, password_hash, unlock_key, options, text_id)
		SELECT l.id, l.workspace_id, l.domain_id, l.slug, l.slug_key, l.destination, l.title, l.notes, l.tags::text[],
			l.status_code, l.starts_at, l.expires_at, l.fallback_url, l.archived, l.version, l.revision, l.created_at, l.updated_at, l.forward_query,
			l.disabled, l.max_clicks, l.max_clicks_since, l.password_hash, l.unlock_key, l.options, $26::bigint
		FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
			$10::smallint[], $11::timestamptz[], $12::timestamptz[], $13::text[], $14::boolean[], $15::bigint[], $16::bigint[], $17::timestamptz[], $18::timestamptz[], $19::text[],
			$20::boolean[], $21::bigint[], $22::bigint[], $23::text[], $24::bytea[], $25::jsonb[])
		AS l (id, workspace_id, domain_id, slug, slug_key, destination, title, notes, tags,
			status_code, starts_at, expires_at, fallback_url, archived, version, revision, created_at, updated_at, forward_query,
			disabled, max_clicks, max_clicks_since, password_hash, unlock_key, options)`,
		c.ids, c.workspaces, c.domains, c.slugs, c.slugKeys, c.destinations, c.titles, c.notes, c.tags,
		c.statusCodes, c.startsAt, c.expiresAt, c.fallbacks, c.archived, c.versions, c.revisions, c.createdAt, c.updatedAt, c.forwards,
		c.disabled, c.limits, c.limitsSince, c.passwords, c.unlockKeys, c.options, textID)
}

// arrayText is a text array as Postgres reads it. unnest would take an array of
// arrays apart to its last element, so each link's tags travel as one text.
func arrayText(items []string) string {
	out := []byte{'{'}
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		for _, b := range []byte(item) {
			if b == '"' || b == '\\' {
				out = append(out, '\\')
			}
			out = append(out, b)
		}
		out = append(out, '"')
	}
	return string(append(out, '}'))
}
