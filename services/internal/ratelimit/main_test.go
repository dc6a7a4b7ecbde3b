package ratelimit

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/redisconn"
	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

func TestMain(m *testing.M) {
	if os.Getenv(takerURL) != "" { // one of the processes of TestAFleetTakesWhatThereIs
		os.Exit(take())
	}
	os.Exit(testproc.NoLeaks(m.Run()))
}

// patient is for tests of what Redis decides: a busy machine must not look like a Redis
// that is away.
const patient = 20 * time.Second

// connect returns a client that is as patient.
func connect(t *testing.T, server *redistest.Server) redis.UniversalClient {
	t.Helper()
	client, err := redisconn.OpenPatient(server.URL, patient)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func newLimiter(t *testing.T, client redis.UniversalClient, timeout time.Duration) (*Limiter, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	return New(client, timeout, registry, slog.New(slog.NewTextHandler(t.Output(), nil))), registry
}

func mustTake(t *testing.T, p *Policy, subject string, q Quota, cost int64) Decision {
	t.Helper()
	d, err := p.Take(t.Context(), subject, q, cost)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
