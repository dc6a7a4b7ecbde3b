package control_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/internal/rpc/controlv1"
	"github.com/linkstream/linkstream/services/internal/rpc/controlv1/controlv1connect"
	"github.com/linkstream/linkstream/services/internal/testproc"
	"github.com/linkstream/linkstream/services/links/internal/control"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(pgtest.Main(m))) }

// patience is what a command promises to wait at most.
const patience = 2 * time.Second

// process is one links process: a Control behind its RPC listener.
type process struct {
	*control.Control
	store    *postgres.Store
	pool     *pgxpool.Pool
	registry *prometheus.Registry
	url      string
}

// world is a database with one workspace and the links processes that share it.
type world struct {
	url       string
	workspace uuid.UUID
	processes []*process
}

func newWorld(t *testing.T, processes int) *world {
	t.Helper()
	w := &world{url: pgtest.New(t), workspace: uuid.New()}
	for range processes {
		w.processes = append(w.processes, w.start(t))
	}
	w.exec(t, `INSERT INTO workspaces (id, name) VALUES ($1, 'w')`, w.workspace)
	w.exec(t, `INSERT INTO domains (id, host) VALUES (gen_random_uuid(), 'go.test')`)
	return w
}

// start starts a process that is deaf to notifications; listen changes that.
func (w *world) start(t *testing.T) *process {
	t.Helper()
	pool, err := postgres.Open(t.Context(), w.url, 16)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	p := &process{pool: pool, store: postgres.New(pool, "go.test", time.Hour), registry: prometheus.NewRegistry()}
	p.Control = control.New(p.store, p.registry, slog.New(slog.NewTextHandler(t.Output(), nil)))
	server := connect.NewServer()
	controlv1connect.RegisterControlServiceHandler(server, p.Control)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server)
	listener := httptest.NewServer(mux)
	t.Cleanup(listener.Close)
	p.url = listener.URL
	return p
}

func (w *world) listen(t *testing.T) {
	t.Helper()
	for _, p := range w.processes {
		background(t, func(ctx context.Context) { _ = p.Run(ctx) })
	}
}

// background runs a task until the test is over.
func background(t *testing.T, task func(ctx context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { task(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

func (w *world) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := w.processes[0].pool.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

func (w *world) create(t *testing.T, slug string) *link.Link {
	t.Helper()
	rules := link.Rules{}
	c, err := rules.CheckNew(link.Change{Destination: link.Some("https://e.test/" + slug), Slug: link.Some(slug)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.processes[0].store.Create(t.Context(), w.workspace, c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// edge is what links sees of an edge.
type edge struct {
	rpc controlv1connect.ControlServiceClient
	id  *controlv1.Edge
	age uint64 // milliseconds

	mu   sync.Mutex
	seen []*controlv1.Command
}

func newEdge(t *testing.T, p *process, region, name string) *edge {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	instance := uuid.New()
	return &edge{
		rpc: controlv1connect.NewControlServiceClient(connect.NewClient(connecthttp.NewTransport(&http.Client{Transport: transport}, p.url))),
		id:  &controlv1.Edge{Region: region, Name: name, Instance: instance[:]},
		age: uint64(time.Hour.Milliseconds()),
	}
}

func (e *edge) poll(t *testing.T, catchUp bool) []*controlv1.Command {
	t.Helper()
	answer, err := e.rpc.Poll(t.Context(), &controlv1.PollRequest{Edge: e.id, AgeMs: e.age, CatchUp: catchUp})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetCommands()
}

// serve polls, and says of each command what the test wants said; nothing without a
// confirmation.
func (e *edge) serve(t *testing.T, w *world, confirmation *controlv1.ConfirmRequest) (stop func()) {
	t.Helper()
	stop = background(t, func(ctx context.Context) {
		var taken []uint64
		for ctx.Err() == nil {
			answer, err := e.rpc.Poll(ctx, &controlv1.PollRequest{Edge: e.id, AgeMs: e.age, UnderWay: taken})
			if err != nil {
				continue
			}
			for _, command := range answer.GetCommands() {
				taken = append(taken, command.GetId())
				e.mu.Lock()
				e.seen = append(e.seen, command)
				e.mu.Unlock()
				if confirmation == nil {
					continue
				}
				if _, err := e.rpc.Confirm(context.WithoutCancel(ctx), &controlv1.ConfirmRequest{
					CommandId: command.GetId(), Edge: e.id, MemoryDone: confirmation.GetMemoryDone(), RedisDone: confirmation.GetRedisDone(),
				}); err != nil {
					t.Errorf("confirming: %v", err)
				}
			}
		}
	})
	facttest.Eventually(t, "the edge is known", func() bool {
		var known bool
		err := w.processes[0].pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM edges WHERE instance = $1)`, e.id.GetInstance()).Scan(&known)
		return err == nil && known
	})
	return stop
}

var done = &controlv1.ConfirmRequest{MemoryDone: true, RedisDone: true}

func (e *edge) commands() []*controlv1.Command {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.seen)
}
