package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/internal/linkoption"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// storedOptions is the column options, as the API has it. Members are only ever added,
// and one that is off is left out, so that rows of earlier releases stay readable.
type storedOptions struct {
	Rules []linkoption.Rule `json:"rules,omitempty"`
	linkoption.Split
	UTM         *linkoption.UTM     `json:"utm,omitempty"`
	Preview     *linkoption.Preview `json:"preview,omitempty"`
	ForwardPath bool                `json:"forward_path,omitempty"`
}

// optionsText is the column's value: nil for a link without options.
func optionsText(o *link.Options) (*string, error) {
	if o.IsZero() {
		return nil, nil //nolint:nilnil // null, as the column has it
	}
	s := storedOptions{Rules: o.Rules, Split: o.Split, ForwardPath: o.ForwardPath}
	if o.UTM != (linkoption.UTM{}) {
		s.UTM = &o.UTM
	}
	if o.Preview != (linkoption.Preview{}) {
		s.Preview = &o.Preview
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding the options: %w", err)
	}
	out := string(text)
	return &out, nil
}

func readOptions(text []byte) (link.Options, error) {
	if text == nil {
		return link.Options{}, nil
	}
	var s storedOptions
	if err := json.Unmarshal(text, &s); err != nil {
		return link.Options{}, fmt.Errorf("decoding the options: %w", err)
	}
	o := link.Options{Rules: s.Rules, Split: s.Split, ForwardPath: s.ForwardPath}
	if s.UTM != nil {
		o.UTM = *s.UTM
	}
	if s.Preview != nil {
		o.Preview = *s.Preview
	}
	return o, nil
}

// The columns of a link whose zero value is stored as null.

func limitColumns(l *link.Link) (limit, since *int64) {
	if l.MaxClicks == 0 {
		return nil, nil
	}
	from := int64(l.MaxClicksSince) //nolint:gosec // from a bigint column
	return &l.MaxClicks, &from
}

func passwordColumns(l *link.Link) (hash *string, unlockKey []byte) {
	if !l.Password.IsSet() {
		return nil, nil
	}
	return &l.Password.Hash, l.Password.UnlockKey
}

// addOptions narrows a search for links to those whose options are the given ones. It
// says in SQL what link.Checked.Fits says in Go.
func (q *query) addOptions(c *link.Change) error {
	var failed error
	member := func(set bool, name string, value any, none bool) {
		if !set {
			return
		}
		var text *string
		if !none {
			encoded, err := json.Marshal(value)
			if err != nil {
				failed = fmt.Errorf("encoding %s: %w", name, err)
				return
			}
			s := string(encoded)
			text = &s
		}
		q.add(` AND l.options->'`+name+`' IS NOT DISTINCT FROM `, text)
		q.text += `::jsonb`
	}
	o := &c.Options
	utm, preview := o.UTM.On(linkoption.UTM{}), o.Preview.On(linkoption.Preview{})
	member(o.Rules.Set, "rules", o.Rules.Value, len(o.Rules.Value) == 0)
	member(o.Variants.Set, "variants", o.Variants.Value, len(o.Variants.Value) == 0)
	member(o.VariantsEndAt.Set, "variants_end_at", o.VariantsEndAt.Value, o.VariantsEndAt.Value == nil)
	member(o.VariantsWinner.Set, "variants_winner", o.VariantsWinner.Value, o.VariantsWinner.Value == 0)
	member(o.UTM.Set(), "utm", utm, utm == linkoption.UTM{})
	member(o.Preview.Set(), "preview", preview, preview == linkoption.Preview{})
	member(o.ForwardPath.Set, "forward_path", true, !o.ForwardPath.Value)
	if c.Disabled.Set {
		q.add(` AND l.disabled = `, c.Disabled.Value)
	}
	if c.MaxClicks.Set {
		q.add(` AND l.max_clicks IS NOT DISTINCT FROM `, c.MaxClicks.Value)
	}
	return failed
}

// PasswordOf returns the password of a link, whichever workspace it belongs to. It fails
// with link.ErrNotFound or link.ErrUnavailable.
func (s *Store) PasswordOf(ctx context.Context, id link.ID) (link.Password, error) {
	rows, err := s.pool.Query(ctx, `SELECT password_hash, unlock_key FROM links WHERE id = $1`, id)
	if err != nil {
		return link.Password{}, translate(err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, scanPassword)
	return p, translate(err)
}

// maxPasswordsLike bounds how many links a new one's password is compared with.
const maxPasswordsLike = 3

// PasswordsLike returns the passwords of the oldest links that fit a new one in all but
// the password, at most three.
func (s *Store) PasswordsLike(ctx context.Context, n *link.New) ([]link.Password, error) {
	q, err := fitting(n, `SELECT l.password_hash, l.unlock_key FROM links l JOIN domains d ON d.id = l.domain_id`)
	if err != nil {
		return nil, err
	}
	if slug := n.Checked.Slug(); slug.Set {
		q.add(` AND d.host = `, s.hostOf(n.Checked))
		q.addSlug(slug.Value)
	}
	q.add(` AND l.password_hash IS NOT NULL ORDER BY l.created_at, l.id LIMIT `, maxPasswordsLike)
	rows, err := s.pool.Query(ctx, q.text, q.args...)
	if err != nil {
		return nil, translate(err)
	}
	found, err := pgx.CollectRows(rows, scanPassword)
	return found, translate(err)
}

func scanPassword(row pgx.CollectableRow) (link.Password, error) {
	var (
		p    link.Password
		hash *string
	)
	err := row.Scan(&hash, &p.UnlockKey)
	if hash != nil {
		p.Hash = *hash
	}
	return p, err
}
