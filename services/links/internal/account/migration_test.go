package account_test

import (
	"database/sql"
	"testing"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/migrations"
	"github.com/linkstream/linkstream/services/links/internal/account"
)

// before is the schema of accounts as it was before migration 00014.
const before = `
	DROP TABLE utm_templates;
	DROP TRIGGER memberships_complete ON memberships;
	DROP FUNCTION complete_membership();
	ALTER TABLE memberships DROP COLUMN id, DROP COLUMN email CASCADE, DROP COLUMN created_at, DROP COLUMN opened_at;
	ALTER TABLE memberships ADD CONSTRAINT memberships_user_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE;
	DROP INDEX users_email_idx;
	ALTER TABLE users DROP CONSTRAINT users_id_email_key, DROP COLUMN bootstrapped, DROP COLUMN claimed_at, ADD CONSTRAINT users_email_key UNIQUE (email);
	DELETE FROM goose_db_version WHERE version_id = 14;`

func TestUsersOfAnEarlierReleaseKeepWorking(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.workspace(t, "second", ownersEmail)
	added, password := w.add(t, w.made.WorkspaceID, "added@x.test", account.Editor)
	session := w.logIn(t)
	w.exec(t, before)
	// As the release before adds a user, without what it does not know.
	w.exec(t, `UPDATE users SET created_at = created_at + interval '1 hour' WHERE id = $1`, added.ID)

	db, err := sql.Open("pgx", w.pool.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if applied, err := migrations.Postgres(t.Context(), db); err != nil || len(applied) != 1 {
		t.Fatalf("applied %v, %v", applied, err)
	}
	w.opens(t, session, w.made.WorkspaceID, account.Owner)
	w.opens(t, w.logIn(t), w.made.WorkspaceID, account.Owner)
	w.opens(t, w.enter(t, "added@x.test", password), w.made.WorkspaceID, account.Editor)
	if list, err := w.accounts.Workspaces(t.Context(), session); err != nil || len(list) != 2 {
		t.Errorf("got %+v, %v", list, err)
	}
	// The operator's account is known as such, a workspace's is not.
	if again := w.workspace(t, "second", ownersEmail); again.WorkspaceID != second.WorkspaceID || again.Password != "" {
		t.Errorf("got %+v", again)
	}
	if other := w.workspace(t, "other", "added@x.test"); other.Password == "" {
		t.Error("a workspace was added to an account that another workspace made")
	}
	// Members keep their ids.
	if err := account.NewMembers(w.store, w.accounts).Remove(t.Context(), w.made.WorkspaceID, added.ID); err != nil {
		t.Errorf("removing by the id of before: %v", err)
	}
	// While both releases run, the one before adds members.
	id := uuid.New()
	w.exec(t, `INSERT INTO users (id, email, password_hash) VALUES ($1, 'late@x.test', (SELECT password_hash FROM users WHERE email = $2))`, id, ownersEmail)
	w.exec(t, `INSERT INTO memberships (workspace_id, user_id, role) VALUES ($1, $2, 'viewer')`, second.WorkspaceID, id)
	w.opens(t, w.enter(t, "late@x.test", w.made.Password), second.WorkspaceID, account.Viewer)
}
