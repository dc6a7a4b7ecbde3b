package events_test

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if brokers := os.Getenv("EVENTS_TEST_BROKERS"); brokers != "" {
		os.Exit(child(brokers, os.Getenv("EVENTS_TEST_EFFECTS")))
	}
	goleak.VerifyTestMain(m)
}

// limit bounds every wait of these tests. Nothing takes nearly so long.
const limit = 15 * time.Second

// eventually polls until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not within %v: %s: %v", limit, what, err)
		case <-tick.C:
		}
	}
}
