package postgres

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

const templateColumns = `id, name, source, medium, campaign, term, content, created_at, updated_at`

func scanTemplate(row pgx.CollectableRow) (link.Template, error) {
	var t link.Template
	err := row.Scan(&t.ID, &t.Name, &t.UTM.Source, &t.UTM.Medium, &t.UTM.Campaign, &t.UTM.Term, &t.UTM.Content, &t.CreatedAt, &t.UpdatedAt)
	t.CreatedAt, t.UpdatedAt = t.CreatedAt.UTC(), t.UpdatedAt.UTC()
	return t, err
}

func oneTemplate(ctx context.Context, tx pgx.Tx, statement string, args ...any) (link.Template, error) {
	rows, err := tx.Query(ctx, statement, args...)
	if err != nil {
		return link.Template{}, err
	}
	return pgx.CollectExactlyOneRow(rows, scanTemplate)
}

func templateError(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == uniqueViolation && pg.ConstraintName == "utm_templates_name_key" {
		return link.ErrTemplateNameTaken
	}
	return err
}

// MakeTemplate stores a template, or finds the one that an earlier try of the same request
// made. It fails with link.ErrTemplateNameTaken, link.ErrTooManyTemplates or
// link.ErrUnavailable.
func (s *Store) MakeTemplate(ctx context.Context, n link.NewTemplate) (made link.Template, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		// Two who add the last one wait for each other.
		if _, err := tx.Exec(ctx, `SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE`, n.WorkspaceID); err != nil {
			return err
		}
		made, err = oneTemplate(ctx, tx, `SELECT `+templateColumns+` FROM utm_templates WHERE workspace_id = $1 AND id = $2`, n.WorkspaceID, n.ID)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		made, err = oneTemplate(ctx, tx, `INSERT INTO utm_templates (id, workspace_id, name, source, medium, campaign, term, content)
			SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE (SELECT count(*) FROM utm_templates WHERE workspace_id = $2) < $9 RETURNING `+templateColumns,
			n.ID, n.WorkspaceID, n.Name, n.UTM.Source, n.UTM.Medium, n.UTM.Campaign, n.UTM.Term, n.UTM.Content, link.MaxTemplates)
		if errors.Is(err, pgx.ErrNoRows) {
			return link.ErrTooManyTemplates
		}
		return templateError(err)
	})
	return made, err
}

// Template returns a template of the workspace, link.ErrNotFound or link.ErrUnavailable.
func (s *Store) Template(ctx context.Context, workspace, id uuid.UUID) (t link.Template, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		t, err = oneTemplate(ctx, tx, `SELECT `+templateColumns+` FROM utm_templates WHERE workspace_id = $1 AND id = $2`, workspace, id)
		return err
	})
	return t, err
}

// Templates returns at most limit templates of the workspace, newest first.
func (s *Store) Templates(ctx context.Context, workspace uuid.UUID, after *link.TemplatePosition, limit int) ([]link.Template, error) {
	q := query{text: `SELECT ` + templateColumns + ` FROM utm_templates WHERE workspace_id = `}
	q.add("", workspace)
	if after != nil {
		q.add(` AND (created_at, id) < (`, after.CreatedAt)
		q.add(`, `, after.ID)
		q.text += `)`
	}
	q.add(` ORDER BY created_at DESC, id DESC LIMIT `, limit)
	rows, err := s.pool.Query(ctx, q.text, q.args...)
	if err != nil {
		return nil, translate(err)
	}
	templates, err := pgx.CollectRows(rows, scanTemplate)
	return templates, translate(err)
}

// EditTemplate changes a template of the workspace. It fails with link.ErrNotFound,
// link.FieldErrors, link.ErrTemplateNameTaken or link.ErrUnavailable.
func (s *Store) EditTemplate(ctx context.Context, workspace, id uuid.UUID, c *link.TemplateChange) (t link.Template, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		before, err := oneTemplate(ctx, tx, `SELECT `+templateColumns+` FROM utm_templates WHERE workspace_id = $1 AND id = $2 FOR UPDATE`, workspace, id)
		if err != nil {
			return err
		}
		if t, err = c.On(before); err != nil || t == before {
			return err
		}
		t, err = oneTemplate(ctx, tx, `UPDATE utm_templates SET name = $3, source = $4, medium = $5, campaign = $6, term = $7, content = $8, updated_at = clock_timestamp()
			WHERE workspace_id = $1 AND id = $2 RETURNING `+templateColumns,
			workspace, id, t.Name, t.UTM.Source, t.UTM.Medium, t.UTM.Campaign, t.UTM.Term, t.UTM.Content)
		return templateError(err)
	})
	return t, err
}

// DeleteTemplate forgets a template of the workspace. It fails with link.ErrNotFound or
// link.ErrUnavailable.
func (s *Store) DeleteTemplate(ctx context.Context, workspace, id uuid.UUID) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM utm_templates WHERE workspace_id = $1 AND id = $2`, workspace, id)
		if err == nil && tag.RowsAffected() == 0 {
			return link.ErrNotFound
		}
		return err
	})
}
