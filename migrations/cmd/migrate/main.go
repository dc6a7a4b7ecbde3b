// Command migrate brings Postgres, ClickHouse and the topics to what this
// release needs. Run it before the services of a new release start.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/caarlos0/env/v11"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver of database/sql, which goose needs
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/migrations"
)

const usage = `usage: migrate postgres|clickhouse|topics|all

Applies what is missing, in this order, and prints what it applied. Running it
again changes nothing.

  LINKSTREAM_POSTGRES_URL       for postgres    postgres://user:password@host:port/database
  LINKSTREAM_CLICKHOUSE_URL     for clickhouse  http://user:password@host:port/database or clickhouse://...
  LINKSTREAM_CLICKHOUSE_CLUSTER                 for clickhouse  cluster of the server's configuration: makes replicated and
                                                distributed tables (default none: a single server)
  LINKSTREAM_CLICK_RETENTION_DAYS               for clickhouse  days that clicks are kept, 0 for ever (default as it was)
  LINKSTREAM_CLICK_ROLLUP_RETENTION_DAYS        for clickhouse  the same for rollups
  LINKSTREAM_KAFKA_BROKERS      for topics      host:port,host:port
  LINKSTREAM_TOPIC_PREFIX       for topics      put before every topic's name (default none)
  LINKSTREAM_TOPIC_REPLICATION  for topics      copies of each partition (default 1)
  LINKSTREAM_SCHEMA_REGISTRY_URL                for topics      http://user:password@host:port of a schema registry, where the
                                                schemas are registered (default none)
`

// step is one thing to migrate and what it needs.
type step struct {
	apply func(context.Context, config) ([]string, error)
	check func(config) error
}

type config struct {
	PostgresURL       string   `env:"POSTGRES_URL"`
	ClickHouseURL     string   `env:"CLICKHOUSE_URL"`
	ClickHouseCluster string   `env:"CLICKHOUSE_CLUSTER"`
	ClickDays         *int     `env:"CLICK_RETENTION_DAYS"`
	RollupDays        *int     `env:"CLICK_ROLLUP_RETENTION_DAYS"`
	KafkaBrokers      []string `env:"KAFKA_BROKERS"`
	TopicPrefix       string   `env:"TOPIC_PREFIX"`
	TopicReplication  int16    `env:"TOPIC_REPLICATION" envDefault:"1"`
	SchemaRegistryURL string   `env:"SCHEMA_REGISTRY_URL"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Environ(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, environ, args []string, stdout io.Writer) error {
	if len(args) != 1 || args[0] == "--help" || args[0] == "-h" || args[0] == "help" {
		fmt.Fprint(stdout, usage)
		if len(args) == 1 {
			return nil
		}
		return errors.New("name one thing to migrate")
	}
	inPostgres, inClickHouse, inTopics := step{postgres, checkPostgres}, step{clickHouse, checkClickHouse}, step{topics, checkTopics}
	steps := map[string][]step{
		"postgres":   {inPostgres},
		"clickhouse": {inClickHouse},
		"topics":     {inTopics},
		"all":        {inPostgres, inClickHouse, inTopics},
	}[args[0]]
	if steps == nil {
		return fmt.Errorf("%q is nothing to migrate: use postgres, clickhouse, topics or all", args[0])
	}
	c, err := env.ParseAsWithOptions[config](env.Options{Environment: env.ToMap(environ), Prefix: "LINKSTREAM_"})
	errs := []error{err}
	for _, s := range steps {
		errs = append(errs, s.check(c))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("these settings are wrong (see --help), nothing was migrated:\n%w", err)
	}
	for _, s := range steps {
		applied, err := s.apply(ctx, c)
		for _, name := range applied {
			fmt.Fprintln(stdout, "applied", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// The checks do not repeat what they refuse: URLs hold passwords.

func checkPostgres(c config) error {
	if _, err := pgx.ParseConfig(c.PostgresURL); err != nil || !strings.Contains(c.PostgresURL, "://") {
		return errors.New("LINKSTREAM_POSTGRES_URL must be a URL, for instance postgres://user:password@127.0.0.1:5432/linkstream")
	}
	return nil
}

var clusterName = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

func checkClickHouse(c config) error {
	_, parseErr := clickhouse.ParseDSN(c.ClickHouseURL)
	u, err := url.Parse(c.ClickHouseURL)
	if parseErr != nil || err != nil || u.Host == "" || !isDatabase(databaseOf(u)) {
		return errors.New("LINKSTREAM_CLICKHOUSE_URL must be a URL that ends with a database, for instance http://127.0.0.1:8123/linkstream")
	}
	if !clusterName.MatchString(c.ClickHouseCluster) {
		return errors.New("LINKSTREAM_CLICKHOUSE_CLUSTER must be a name of letters, digits, - and _")
	}
	if c.ClickDays != nil && *c.ClickDays < 0 || c.RollupDays != nil && *c.RollupDays < 0 {
		return errors.New("LINKSTREAM_CLICK_RETENTION_DAYS and LINKSTREAM_CLICK_ROLLUP_RETENTION_DAYS must be 0 or more")
	}
	return nil
}

func checkTopics(c config) error {
	var errs []error
	if len(c.KafkaBrokers) == 0 {
		errs = append(errs, errors.New("LINKSTREAM_KAFKA_BROKERS must be host:port, comma separated"))
	}
	for _, broker := range c.KafkaBrokers {
		if _, _, err := net.SplitHostPort(broker); err != nil {
			errs = append(errs, errors.New("LINKSTREAM_KAFKA_BROKERS must be host:port, comma separated"))
			break
		}
	}
	if c.TopicReplication < 1 {
		errs = append(errs, errors.New("LINKSTREAM_TOPIC_REPLICATION must be at least 1"))
	}
	if c.SchemaRegistryURL != "" {
		u, err := url.Parse(c.SchemaRegistryURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			errs = append(errs, errors.New("LINKSTREAM_SCHEMA_REGISTRY_URL must be a URL, for instance http://127.0.0.1:8081"))
		}
	}
	return errors.Join(errs...)
}

func databaseOf(u *url.URL) string { return strings.Trim(u.Path, "/") }

// isDatabase says whether a name can stand between backticks as it is.
func isDatabase(name string) bool { return name != "" && !strings.ContainsAny(name, "`\\/") }

func postgres(ctx context.Context, c config) ([]string, error) {
	db, err := sql.Open("pgx", c.PostgresURL)
	if err != nil {
		return nil, fmt.Errorf("opening Postgres: %w", err)
	}
	defer func() { _ = db.Close() }()
	return migrations.Postgres(ctx, db)
}

func clickHouse(ctx context.Context, c config) ([]string, error) {
	if err := createDatabase(ctx, c.ClickHouseURL, c.ClickHouseCluster); err != nil {
		return nil, err
	}
	options, err := clickhouse.ParseDSN(c.ClickHouseURL)
	if err != nil {
		return nil, fmt.Errorf("reading the ClickHouse URL: %w", err)
	}
	db := clickhouse.OpenDB(options)
	defer func() { _ = db.Close() }()
	return migrations.ClickHouseWith(ctx, db, migrations.ClickHouseSettings{Cluster: c.ClickHouseCluster, ClickDays: c.ClickDays, RollupDays: c.RollupDays})
}

// createDatabase makes the database that the URL names, by a connection to the
// one that is always there.
func createDatabase(ctx context.Context, raw, cluster string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return fmt.Errorf("reading the ClickHouse URL: %w", err)
	}
	name := databaseOf(u)
	u.Path = "/default"
	options, err := clickhouse.ParseDSN(u.String())
	if err != nil {
		return fmt.Errorf("reading the ClickHouse URL: %w", err)
	}
	db := clickhouse.OpenDB(options)
	defer func() { _ = db.Close() }()
	statement := "CREATE DATABASE IF NOT EXISTS `" + name + "`"
	if cluster != "" {
		statement += " ON CLUSTER '" + cluster + "'"
	}
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("creating the database %s: %w", name, err)
	}
	return nil
}

func topics(ctx context.Context, c config) ([]string, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.KafkaBrokers...))
	if err != nil {
		return nil, fmt.Errorf("making the broker's client: %w", err)
	}
	defer client.Close()
	created, err := migrations.CreateTopics(ctx, client, c.TopicPrefix, c.TopicReplication)
	for i, name := range created {
		created[i] = "topic " + name
	}
	if err != nil || c.SchemaRegistryURL == "" {
		return created, err
	}
	subjects, err := migrations.RegisterSchemas(ctx, c.SchemaRegistryURL, c.TopicPrefix)
	for _, subject := range subjects {
		created = append(created, "schema "+subject)
	}
	return created, err
}
