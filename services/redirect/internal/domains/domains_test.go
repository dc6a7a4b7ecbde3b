package domains_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheTableIsReplacedByANewerOneOnly(t *testing.T) {
	table := domains.New()
	check := func(host string, known bool, want string) {
		t.Helper()
		d, ok := table.Find([]byte(host))
		got := ""
		if d != nil {
			got = d.Home
		}
		if ok != known || got != want {
			t.Errorf("%s: %q, known %t; want %q, %t", host, got, ok, want, known)
		}
	}
	check("a.test", false, "")
	table.Take(5, []domains.Domain{{Host: "a.test", Home: "https://5.test"}})
	check("a.test", true, "https://5.test")
	check("b.test", true, "")
	table.Take(4, []domains.Domain{{Host: "b.test", Home: "https://4.test"}})
	table.Take(5, nil)
	check("a.test", true, "https://5.test")
	check("b.test", true, "")
	table.Take(6, nil)
	check("a.test", true, "")
	if table.Revision() != 6 {
		t.Errorf("revision %d", table.Revision())
	}
}

func TestFindingAllocatesNothing(t *testing.T) {
	table, host := domains.New(), []byte("a.test")
	table.Take(1, []domains.Domain{{Host: "a.test"}})
	if got := testing.AllocsPerRun(100, func() { table.Find(host) }); got > 0 {
		t.Errorf("it allocates %v times", got)
	}
}

const home = "https://home.test/?a=b&c=<d>"

func compare(t *testing.T, table *domains.Table, client redis.UniversalClient) {
	t.Helper()
	if err := domains.NewCopy(table, client, slog.New(slog.DiscardHandler)).Compare(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Guards I52.
func TestTheRegionsCopy(t *testing.T) {
	client := redistest.Start(t).Client(t)
	first, second := domains.New(), domains.New()
	compare(t, first, client)
	if first.Revision() != 0 {
		t.Errorf("an empty Redis gives revision %d", first.Revision())
	}
	first.Take(7, []domains.Domain{{Host: "a.test", FoldCase: true, Home: home, Fallback: "https://f.test/"}, {Host: "b.test"}})
	compare(t, first, client)
	const want = `{"revision":7,"domains":[{"host":"a.test","fold_case":true,"home_url":"https://home.test/?a=b&c=<d>","fallback_url":"https://f.test/"},{"host":"b.test"}]}`
	if got := client.Get(t.Context(), "domains").Val(); got != want {
		t.Errorf("Redis holds %s, want %s", got, want)
	}

	// An edge that starts takes it, and one that knows less does not replace it.
	compare(t, second, client)
	if d, known := second.Find([]byte("a.test")); !known || d == nil || *d != (domains.Domain{Host: "a.test", FoldCase: true, Home: home, Fallback: "https://f.test/"}) {
		t.Errorf("read back: %+v", d)
	}
	second.Take(9, nil)
	compare(t, second, client)
	compare(t, first, client)
	if first.Revision() != 9 || client.Get(t.Context(), "domains").Val() != `{"revision":9,"domains":[]}` {
		t.Errorf("revision %d, Redis holds %s", first.Revision(), client.Get(t.Context(), "domains").Val())
	}

	// What is no copy is none, and is replaced.
	for _, odd := range []string{"", "x", `{"revision":99999999999999999999}`, `{"revision":12,"domains":[{"ho`, `["revision"]`} {
		client.Set(t.Context(), "domains", odd, 0)
		third := domains.New()
		compare(t, third, client)
		if third.Revision() != 0 {
			t.Errorf("%q is taken for revision %d", odd, third.Revision())
		}
		third.Take(20, nil)
		compare(t, third, client)
		if got := client.Get(t.Context(), "domains").Val(); !strings.HasPrefix(got, `{"revision":20,`) {
			t.Errorf("%q is replaced by %q", odd, got)
		}
	}
	client.Del(t.Context(), "domains")
	client.RPush(t.Context(), "domains", "a list")
	compare(t, first, client)
	if got := client.Get(t.Context(), "domains").Val(); !strings.HasPrefix(got, `{"revision":9,`) {
		t.Errorf("a list is replaced by %q", got)
	}
}

func TestWritersInAnyOrderEndWithTheNewest(t *testing.T) {
	client := redistest.Start(t).Client(t)
	var all sync.WaitGroup
	for revision := range 32 {
		table := domains.New()
		table.Take(uint64(revision)+1, []domains.Domain{{Host: fmt.Sprintf("d%d.test", revision)}}) //nolint:gosec // small
		all.Go(func() { compare(t, table, client) })
	}
	all.Wait()
	if got := client.Get(t.Context(), "domains").Val(); !strings.HasPrefix(got, `{"revision":32,`) {
		t.Errorf("Redis holds %s", got)
	}
}

// Edges that links does not answer hear what others have heard, and a Redis that lost
// the copy gets it again.
//
// Guards I52.
func TestTheCopyIsKept(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	here, there := domains.New(), domains.New()
	for _, table := range []*domains.Table{here, there} {
		kept := domains.NewCopy(table, client, slog.New(slog.DiscardHandler))
		running.Go(func() { _ = kept.Run(ctx) })
	}
	here.Take(3, nil)
	facttest.Eventually(t, "it is written", func() bool { return client.Exists(t.Context(), "domains").Val() == 1 })
	facttest.Eventually(t, "the other edge has it", func() bool { return there.Revision() == 3 })
	server.Kill()
	server.Restart(t)
	facttest.Eventually(t, "it is written again", func() bool { return client.Exists(t.Context(), "domains").Val() == 1 })
}
