package postgres

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

// Tags returns the tags that begin with a text, whatever its case, and how many links have
// each, the most used first. It reads the newest link.TagsReadFrom links, and says whether
// these were all. Counts that are kept for each tag would make every two writers of a
// common tag wait for each other.
func (s *Store) Tags(ctx context.Context, workspace uuid.UUID, beginning string, limit int) (link.Tags, error) {
	if strings.ContainsRune(beginning, 0) || !utf8.ValidString(beginning) {
		return link.Tags{Whole: true}, nil // no tag has these
	}
	var out link.Tags
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		out = link.Tags{}
		rows, err := tx.Query(ctx, `WITH newest AS MATERIALIZED (
				SELECT tags FROM links WHERE workspace_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2 + 1
			), counted AS (
				SELECT tag, count(*) AS links FROM (SELECT tags FROM newest LIMIT $2) n, unnest(n.tags) AS tag
				WHERE starts_with(lower(tag), lower($3)) GROUP BY tag ORDER BY links DESC, tag LIMIT $4
			)
			SELECT tag, links FROM counted UNION ALL SELECT '', (SELECT count(*) FROM newest)`,
			workspace, link.TagsReadFrom, beginning, limit)
		if err != nil {
			return err
		}
		var t link.Tag
		_, err = pgx.ForEachRow(rows, []any{&t.Name, &t.Links}, func() error {
			if t.Name == "" { // no tag is empty: this is how many links there are
				out.Whole = t.Links <= link.TagsReadFrom
			} else {
				out.Tags = append(out.Tags, t)
			}
			return nil
		})
		return err
	})
	return out, err
}
