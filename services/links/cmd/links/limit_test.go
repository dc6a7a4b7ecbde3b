package main

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

// Two processes of the service, one key, one bucket.
//
// Guards I41.
func TestAKeysLimitIsThatOfTheFleet(t *testing.T) {
	url, redis := pgtest.New(t), redistest.Start(t)
	cluster := newBroker(t, string(events.LinksChangelog))
	made := runBootstrap(t, url)
	var fleet []*process
	for range 2 {
		fleet = append(fleet, startProcess(t, url, cluster.ListenAddrs(), "LINKSTREAM_RATELIMIT_REDIS_URL="+redis.URL,
			"LINKSTREAM_RATE_CAPACITY=6", "LINKSTREAM_RATE_REFILL=0.001", "LINKSTREAM_RATE_ADDRESS_CAPACITY=4", "LINKSTREAM_RATE_ADDRESS_REFILL=0.001"))
	}
	check := func(name, key string, i, status, left int) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+fleet[i%2].http+"/v1/links", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+key)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != status || answer.Header.Get("X-RateLimit-Remaining") != strconv.Itoa(left) || (answer.Header.Get("Retry-After") != "") != (status == http.StatusTooManyRequests) {
			t.Errorf("%s, call %d: %d with %v", name, i, answer.StatusCode, answer.Header)
		}
	}
	for i := range 6 {
		check("a key", made.APIKey, i, http.StatusOK, 5-i)
	}
	check("a key", made.APIKey, 6, http.StatusTooManyRequests, 0)
	check("a key", made.APIKey, 7, http.StatusTooManyRequests, 0)
	for i := range 4 {
		check("no key", "ls_key_nobody", i, http.StatusUnauthorized, 3-i)
	}
	check("no key", "ls_key_nobody", 4, http.StatusTooManyRequests, 0)
	check("no key", "ls_key_nobody", 5, http.StatusTooManyRequests, 0)
	for i, p := range fleet {
		_, metrics := get(t, "http://"+p.admin+"/metrics")
		for _, line := range []string{`ratelimit_allowed_total{policy="key"} 3`, `ratelimit_rejected_total{policy="key"} 1`, `ratelimit_rejected_total{policy="address"} 1`, `ratelimit_fallback_total{policy="key"} 0`, `ratelimit_tokens_remaining_count{policy="key"} 4`} {
			if !strings.Contains(metrics, "\n"+line+"\n") {
				t.Errorf("no %q in the metrics of process %d", line, i)
			}
		}
	}
}
