package stack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/linkstream/linkstream/compose/local/internal/chdb"
	"github.com/linkstream/linkstream/compose/local/internal/console"
	"github.com/linkstream/linkstream/compose/local/internal/kafka"
	"github.com/linkstream/linkstream/compose/local/internal/plan"
	"github.com/linkstream/linkstream/compose/local/internal/postgres"
	"github.com/linkstream/linkstream/compose/local/internal/readiness"
	"github.com/linkstream/linkstream/compose/local/internal/redis"
	"github.com/linkstream/linkstream/compose/local/internal/supervise"
)

// grace is how long a process may take to end: a service's drain (10 s) and a little.
const grace = 15 * time.Second

// Options of Up.
type Options struct {
	Dir        string // the stack's folder
	Bin        string // where the built binaries are
	Broker     plan.BrokerKind
	StoresOnly bool // no migrations, no services
	Environ    []string
	Getenv     func(string) string
	Console    *console.Console
	// Force is closed when the person does not want to wait for an orderly stop.
	Force <-chan struct{}
}

// stack is one run of Up.
type stack struct {
	options Options
	folder  folder
	plan    plan.Plan
	tools   tools
	spawner *supervise.Spawner
	group   *group
}

// Up starts the stack and stays until ctx is cancelled; then, or when it cannot start, it stops everything.
func Up(ctx context.Context, o Options) error {
	s, err := prepare(o)
	if err != nil {
		return err
	}
	if err := s.folder.create(); err != nil {
		return err
	}
	lock, err := s.folder.lock()
	if err != nil {
		return err
	}
	defer lock.release()
	if err := endLeftovers(ctx, s.folder, o.Console); err != nil {
		return err
	}
	if err := s.folder.clearHolds(); err != nil {
		return err
	}
	if s.tools, err = checkMachine(ctx, s.plan, s.wanted(), s.commands(), o.Getenv); err != nil {
		return err
	}

	// The thread that starts children has to outlive them all.
	spawning, stopSpawner := context.WithCancel(context.WithoutCancel(ctx))
	var spawner sync.WaitGroup
	spawner.Go(func() { _ = s.spawner.Run(spawning) }) // it returns no error
	defer spawner.Wait()
	defer stopSpawner()
	defer func() {
		if len(s.group.members) > 0 {
			o.Console.Event("stopping (Ctrl-C again ends everything at once)")
		}
		s.group.stop(o.Force)
		o.Console.Event("stopped; the data stay in %s", s.folder.root)
	}()

	if err := s.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // asked to stop while starting
		}
		return err
	}
	<-ctx.Done()
	return nil
}

func prepare(o Options) (*stack, error) {
	settings, err := plan.ReadSettings(o.Getenv)
	if err != nil {
		return nil, err
	}
	f, err := openFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	settings.Root, settings.Broker, settings.GeoCountryFile = f.root, o.Broker, plan.GeoCountryFile(o.Getenv)
	if settings.Bin, err = filepath.Abs(o.Bin); err != nil {
		return nil, fmt.Errorf("locating %s: %w", o.Bin, err)
	}
	p, err := plan.New(settings)
	if err != nil {
		return nil, err
	}
	return &stack{
		options: o, folder: f, plan: p,
		spawner: supervise.NewSpawner(),
		group:   &group{console: o.Console},
	}, nil
}

func (s *stack) wanted() []plan.Process {
	if s.options.StoresOnly {
		return s.plan.Stores()
	}
	return s.plan.Processes
}

// commands are the binaries that run once.
func (s *stack) commands() []string {
	if s.options.StoresOnly {
		return nil
	}
	return []string{"migrate", "links"}
}

func (s *stack) start(ctx context.Context) error {
	stores, err := s.startAll(ctx, s.plan.Stores())
	if err != nil {
		return err
	}
	if err := s.group.waitReady(ctx, stores); err != nil {
		return err
	}
	if err := postgres.CreateDatabase(ctx, s.plan.PostgresAdminURL); err != nil {
		return err
	}
	if s.options.StoresOnly {
		if err := s.writeDevEnv(credentials{}); err != nil {
			return err
		}
		s.options.Console.Text(s.greetingOfStores())
		return nil
	}

	if err := s.migrate(ctx); err != nil {
		return err
	}
	login, err := s.bootstrap(ctx)
	if err != nil {
		return err
	}
	services, err := s.startAll(ctx, s.plan.Services())
	if err != nil {
		return err
	}
	if err := s.group.waitReady(ctx, services); err != nil {
		return err
	}
	if err := s.writeDevEnv(login); err != nil {
		return err
	}
	if s.plan.Settings.Canary {
		if _, err := s.startAll(ctx, []plan.Process{s.plan.Canary(login.APIKey)}); err != nil {
			return err
		}
	}
	s.options.Console.Text(s.greeting(login))
	return nil
}

func (s *stack) startAll(ctx context.Context, processes []plan.Process) ([]*member, error) {
	started := make([]*member, 0, len(processes))
	for _, process := range processes {
		spec, err := s.spec(ctx, process)
		if err != nil {
			return nil, err
		}
		m := &member{
			process: supervise.New(spec, s.folder.dirs(), s.spawner, s.tell),
			tier:    process.Tier,
			probe:   probe(process),
		}
		if len(process.Ports) > 0 {
			m.port = process.Ports[0].Port
		}
		s.group.start(ctx, m)
		started = append(started, m)
	}
	return started, nil
}

// spec turns a planned process into one that can be run.
func (s *stack) spec(ctx context.Context, process plan.Process) (supervise.Spec, error) {
	spec := supervise.Spec{
		Name:       process.Name,
		Path:       filepath.Join(s.plan.Settings.Bin, process.Binary),
		Env:        s.environ(process.Env),
		Dir:        s.folder.root,
		StopSignal: syscall.SIGTERM,
		Grace:      grace,
	}
	switch process.Kind {
	case plan.KindPostgres:
		return s.postgresSpec(ctx, spec, process)
	case plan.KindRedis:
		server := redis.Server{Dir: process.Data, Port: process.Ports[0].Port}
		spec.Path, spec.Args = s.tools.redis, server.Args()
		spec.Before, spec.After = server.Prepare, server.Ended
	case plan.KindKafka:
		return s.kafkaSpec(ctx, spec, process)
	case plan.KindBroker:
		spec.Args = []string{"--addr", process.Ready, "--data-dir", process.Data}
	case plan.KindClickHouse:
		spec.Args = []string{
			"--addr", fmt.Sprintf("127.0.0.1:%d", process.Ports[0].Port),
			"--data-dir", process.Data, "--lib", chdb.Path(s.options.Getenv),
		}
	case plan.KindService:
	}
	return spec, nil
}

func (s *stack) postgresSpec(ctx context.Context, spec supervise.Spec, process plan.Process) (supervise.Spec, error) {
	cluster, err := postgres.Open(process.Data, process.Ports[0].Port)
	if err != nil {
		return spec, err
	}
	spec.Dir = "/" // the account may not be allowed into the stack's folder
	if cluster.Account != nil {
		spec.User = cluster.Account.Credential
	}
	initdb := spec
	initdb.Name = "initdb"
	err = cluster.Init(ctx, func(ctx context.Context, path string, args ...string) error {
		s.options.Console.Step("making a PostgreSQL data directory in %s", cluster.Dir)
		initdb.Path, initdb.Args = path, args
		return s.once(ctx, initdb, nil)
	})
	if err != nil {
		return spec, err
	}
	spec.Path, spec.Args = cluster.Server()
	spec.StopSignal = syscall.SIGINT // PostgreSQL's fast stop; SIGTERM would wait for clients to leave
	spec.Before = cluster.Prepare
	return spec, nil
}

func (s *stack) kafkaSpec(ctx context.Context, spec supervise.Spec, process plan.Process) (supervise.Spec, error) {
	server := kafka.Server{
		Runtime: s.tools.kafka, Dir: process.Data,
		Port: process.Ports[0].Port, ControllerPort: process.Ports[1].Port,
	}
	format := spec
	format.Name = "kafka-format"
	err := server.Init(ctx, func(ctx context.Context, dir, path string, args ...string) error {
		s.options.Console.Step("making an Apache Kafka data directory in %s", server.Dir)
		format.Dir, format.Path, format.Args = dir, path, args
		return s.once(ctx, format, nil)
	})
	if err != nil {
		return spec, err
	}
	spec.Dir, spec.Path, spec.Args = server.Dir, s.tools.kafka.Java, server.Args()
	spec.Before = server.Prepare
	return spec, nil
}

func probe(process plan.Process) readiness.Probe {
	switch process.Kind {
	case plan.KindPostgres:
		return readiness.Postgres(process.Ready)
	case plan.KindRedis:
		return readiness.Redis(process.Ready)
	case plan.KindBroker, plan.KindKafka:
		return readiness.Kafka(process.Ready)
	case plan.KindClickHouse, plan.KindService:
	}
	return readiness.HTTP(process.Ready)
}

// environ is the caller's environment, so that settings such as LINKSTREAM_LOG_LEVEL can be given to make run, with
// what the plan fixes on top.
func (s *stack) environ(fixed map[string]string) []string {
	environ := append([]string{}, s.options.Environ...)
	environ = append(environ, s.folder.markerPair())
	for name, value := range fixed {
		environ = append(environ, name+"="+value)
	}
	return environ
}

func (s *stack) tell(event supervise.Event) {
	c := s.options.Console
	switch event.Kind {
	case supervise.Exited:
		c.Event("%s ended (%v), restarting; its log is %s", event.Name, event.Err, supervise.LogFile(s.folder.dirs().Log, event.Name))
	case supervise.Held:
		c.Event("%s ended (%v), held by %s", event.Name, event.Err, supervise.HoldFile(s.folder.dirs().Run, event.Name))
	case supervise.Released:
		c.Event("%s released, starting", event.Name)
	case supervise.Killed:
		c.Event("%s did not end within %s, killed", event.Name, grace)
	}
}

// errNoLogin says that links bootstrap did not print what it promises.
var errNoLogin = errors.New("links bootstrap printed no login")
