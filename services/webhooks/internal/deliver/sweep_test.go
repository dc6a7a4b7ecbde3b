package deliver_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/hooktest"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

func TestASweepForgetsBoundsAndMends(t *testing.T) {
	s := hooktest.NewStore(t)
	old, _ := s.Endpoint(t, "https://old.test/", nil)
	full, _ := s.Endpoint(t, "https://full.test/", nil)
	stuck, _ := s.Endpoint(t, "https://stuck.test/", nil)
	off, _ := s.Endpoint(t, "https://off.test/", nil)
	enqueue(t, s, old, uuid.New(), 0, 2)
	for range 6 {
		enqueue(t, s, full, uuid.New(), 0, 1)
	}
	enqueue(t, s, stuck, uuid.New(), 0, 3)
	enqueue(t, s, off, uuid.New(), 0, 1)
	for _, statement := range []string{
		`UPDATE webhook_deliveries SET state = 'delivered', next_attempt_at = NULL, finished_at = now() - interval '2 days' WHERE next_attempt_at IS NOT NULL AND endpoint_id = '` + old.ID.String() + `'`,
		`UPDATE webhook_deliveries SET next_attempt_at = NULL WHERE endpoint_id = '` + stuck.ID.String() + `'`,
		`UPDATE webhook_endpoints SET enabled = false, disabled_reason = 'request', disabled_at = now() WHERE id = '` + off.ID.String() + `'`,
	} {
		if _, err := s.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	disabled, err := s.Sweep(t.Context(), 24*time.Hour, 5)
	if err != nil || len(disabled) != 1 || disabled[0] != full.ID {
		t.Fatalf("disabled %v, %v", disabled, err)
	}
	check := func(e *endpoint.Endpoint, state string, want int) {
		t.Helper()
		if got := states(t, s, e); got[state] != want || len(got) != 1 {
			t.Errorf("%s: %v, want %d %s", e.URL, got, want, state)
		}
	}
	check(old, "pending", 1)
	check(full, "failed endpoint_disabled", 6)
	check(off, "failed endpoint_disabled", 1)
	check(stuck, "pending", 3)
	if e, err := s.Get(t.Context(), s.Workspace, full.ID); err != nil || e.DisabledReason != endpoint.QueueFull {
		t.Errorf("the full one is %+v, %v", e, err)
	}
	claimed, err := s.Claim(t.Context(), 10, 10, nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	of := map[uuid.UUID]int{}
	for _, c := range claimed {
		of[c.Endpoint]++
	}
	if of[old.ID] != 1 || of[stuck.ID] != 1 || len(of) != 2 {
		t.Errorf("due are %v, want one of the old and the first of the stuck", of)
	}
	if depth, err := s.Depth(t.Context()); err != nil || depth.Pending != 4 {
		t.Errorf("depth %+v, %v", depth, err)
	}
	if counts, err := s.Disabled(t.Context()); err != nil || counts[endpoint.QueueFull] != 1 || counts[endpoint.ByRequest] != 1 {
		t.Errorf("disabled %v, %v", counts, err)
	}
}

// A deleted endpoint takes its deliveries along, in whatever state, and an outcome that
// comes afterwards goes nowhere.
func TestADeletedEndpointLeavesNothing(t *testing.T) {
	s := hooktest.NewStore(t)
	e, _ := s.Endpoint(t, "https://gone.test/", nil)
	enqueue(t, s, e, uuid.New(), 0, 2)
	claimed, err := s.Claim(t.Context(), 10, 10, nil, time.Minute)
	if err != nil || len(claimed) != 1 {
		t.Fatalf("claimed %d, %v", len(claimed), err)
	}
	if err := s.Delete(t.Context(), s.Workspace, e.ID, func(uint64) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(t.Context(), &claimed[0], postgres.Result{Attempt: postgres.Attempt{StartedAt: time.Now(), Status: 200}}); err != nil {
		t.Errorf("a late outcome: %v", err)
	}
	var left int
	if err := s.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM webhook_deliveries) + (SELECT count(*) FROM webhook_attempts)`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows are left, %v", left, err)
	}
}
