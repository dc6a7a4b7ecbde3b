package account_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/links/internal/account"
)

// Whoever is first, nobody waits in a circle, and no session is left in a workspace
// without its membership.
func TestMovesRemovalsAndJoinsAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	members := account.NewMembers(w.store, w.accounts)
	for range 10 {
		second := w.workspace(t, uuid.NewString(), ownersEmail)
		w.add(t, second.WorkspaceID, "boss@x.test", account.Owner)
		invited := w.workspace(t, uuid.NewString(), "boss2@x.test")
		guest, handedOver := w.add(t, invited.WorkspaceID, ownersEmail, account.Viewer)
		token, password := w.logIn(t), uuid.NewString()
		id := uuid.MustParse(w.text(t, `SELECT id::text FROM memberships WHERE workspace_id = $1 AND email = $2`, second.WorkspaceID, ownersEmail))
		errs := make([]error, 4)
		var wait sync.WaitGroup
		for i, do := range []func(ctx context.Context) error{
			func(ctx context.Context) error {
				_, _, err := w.accounts.Switch(ctx, token, second.WorkspaceID)
				return err
			},
			func(ctx context.Context) error { return members.Remove(ctx, second.WorkspaceID, id) },
			func(ctx context.Context) error { return members.Remove(ctx, invited.WorkspaceID, guest.ID) },
			func(ctx context.Context) error {
				_, _, err := w.accounts.Join(ctx, token, handedOver, password)
				if err == nil {
					w.made.Password = password
				}
				return err
			},
		} {
			wait.Go(func() { errs[i] = do(t.Context()) })
		}
		wait.Wait()
		for i, err := range errs {
			if err != nil && !errors.Is(err, access.ErrNotMember) && !errors.Is(err, access.ErrUnauthenticated) && !errors.Is(err, access.ErrWrongCredentials) && !errors.Is(err, account.ErrNotFound) {
				t.Errorf("%d: %v", i, err)
			}
		}
		lost := w.text(t, `SELECT count(*)::text FROM sessions s WHERE s.workspace_id IN ($1, $2)
			AND NOT EXISTS (SELECT FROM memberships m WHERE m.workspace_id = s.workspace_id AND m.user_id = s.user_id)`, second.WorkspaceID, invited.WorkspaceID)
		if lost != "0" {
			t.Errorf("%s sessions are left without a membership; %v", lost, errs)
		}
	}
}
