package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/linkstream/linkstream/compose/local/internal/devenv"
	"github.com/linkstream/linkstream/compose/local/internal/plan"
	"github.com/linkstream/linkstream/compose/local/internal/supervise"
)

const (
	workspaceName = "Local"
	ownerEmail    = "owner@example.com"

	commandLimit = 2 * time.Minute // for migrations and bootstrap; on fresh stores they take seconds
)

// Names in dev.env that are read back on the next start.
const (
	envAPIKey   = "LINKSTREAM_API_KEY"
	envEmail    = "LINKSTREAM_DASHBOARD_EMAIL"
	envPassword = "LINKSTREAM_DASHBOARD_PASSWORD"
)

// credentials of the first workspace, as links bootstrap prints them.
type credentials struct {
	WorkspaceID string `json:"workspace_id"`
	Email       string `json:"email"`
	Password    string `json:"password"`
	APIKey      string `json:"api_key"`
}

func (s *stack) migrate(ctx context.Context) error {
	return s.command(ctx, "migrate", "migrate", nil, map[string]string{
		"LINKSTREAM_POSTGRES_URL":      s.plan.PostgresURL,
		"LINKSTREAM_CLICKHOUSE_URL":    s.plan.ClickHouseURL,
		"LINKSTREAM_KAFKA_BROKERS":     s.plan.KafkaBrokers,
		"LINKSTREAM_TOPIC_REPLICATION": "1", // there is one broker
	}, "all")
}

// bootstrap makes the first workspace, or finds it: the login of the last run is in dev.env and stays the same.
func (s *stack) bootstrap(ctx context.Context) (credentials, error) {
	env := map[string]string{"LINKSTREAM_POSTGRES_URL": s.plan.PostgresURL, "LINKSTREAM_TOKEN_PEPPER": plan.TokenPepper}
	known, err := devenv.Read(s.folder.devEnv())
	if err != nil {
		return credentials{}, err
	}
	if known[envAPIKey] != "" && known[envPassword] != "" {
		env["LINKSTREAM_BOOTSTRAP_API_KEY"] = known[envAPIKey]
		env["LINKSTREAM_BOOTSTRAP_PASSWORD"] = known[envPassword]
	}
	var printed bytes.Buffer
	err = s.command(ctx, "bootstrap", "links", &printed, env,
		"bootstrap", "--workspace", workspaceName, "--email", ownerEmail, "--domain", plan.DefaultDomain)
	if err != nil {
		return credentials{}, err
	}
	var login credentials
	if err := json.Unmarshal(printed.Bytes(), &login); err != nil {
		return credentials{}, fmt.Errorf("%w: %w", errNoLogin, err)
	}
	if login.APIKey == "" || login.Password == "" {
		return credentials{}, errNoLogin
	}
	// Written at once: should a service fail to start, the next run still knows the key that is stored hashed only.
	return login, s.writeDevEnv(login)
}

// command runs one of our binaries to its end, and shows the end of its log if it fails.
func (s *stack) command(ctx context.Context, name, binary string, stdout io.Writer, env map[string]string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	spec := supervise.Spec{
		Name: name, Path: filepath.Join(s.plan.Settings.Bin, binary), Args: args,
		Env: s.environ(maps.Clone(env)), Dir: s.folder.root,
		StopSignal: syscall.SIGTERM, Grace: grace,
	}
	started := time.Now()
	if err := s.once(ctx, spec, stdout); err != nil {
		return err
	}
	s.options.Console.Step("%s is done (%s)", name, time.Since(started).Round(10*time.Millisecond))
	return nil
}

func (s *stack) once(ctx context.Context, spec supervise.Spec, stdout io.Writer) error {
	err := supervise.Once(ctx, spec, s.folder.dirs(), s.spawner, stdout)
	if err != nil {
		log := supervise.LogFile(s.folder.dirs().Log, spec.Name)
		return fmt.Errorf("running %s: %w. The end of %s:\n%s", spec.Name, err, log, tail(log, 12))
	}
	return nil
}

func (s *stack) writeDevEnv(login credentials) error {
	p := s.plan
	pairs := []devenv.Pair{
		{Name: "LINKSTREAM_API_URL", Value: p.APIURL},
		{Name: envAPIKey, Value: login.APIKey},
		{Name: "LINKSTREAM_DASHBOARD_URL", Value: p.APIURL},
		{Name: envEmail, Value: login.Email},
		{Name: envPassword, Value: login.Password},
		{Name: "LINKSTREAM_EDGE_URLS", Value: strings.Join(p.EdgeURLs, ",")},
		{Name: "LINKSTREAM_POSTGRES_URL", Value: p.PostgresURL},
		{Name: "LINKSTREAM_KAFKA_BROKERS", Value: p.KafkaBrokers},
		{Name: "LINKSTREAM_REDIS_URLS", Value: p.RedisURLList()},
		{Name: "LINKSTREAM_CLICKHOUSE_URL", Value: p.ClickHouseURL},
	}
	if login == (credentials{}) { // stores only: keep the login of an earlier whole run
		known, err := devenv.Read(s.folder.devEnv())
		if err != nil {
			return err
		}
		for i, pair := range pairs {
			if pair.Name == envAPIKey || pair.Name == envEmail || pair.Name == envPassword {
				pairs[i].Value = known[pair.Name]
			}
		}
	}
	return devenv.Write(s.folder.devEnv(), pairs)
}

// greeting tells where everything is, and three commands to try, which work in a fresh shell when pasted in this order.
func (s *stack) greeting(login credentials) string {
	p := s.plan
	var edges strings.Builder
	for i, url := range p.EdgeURLs {
		fmt.Fprintf(&edges, "    %-22s %s\n", "redirect-"+p.Settings.Regions[i/p.Settings.Edges]+"-"+strconv.Itoa(i%p.Settings.Edges), url)
	}
	return fmt.Sprintf(`
linkstream is running.

    %-22s %s
    %-22s email %s, password %s
    %-22s %s/v1
    %-22s %s
%s
All addresses and the API key are in %s, logs in %s.

Try it. Create a link, follow it and, a second later, count its clicks (curl by its own name is a robot):

    . %s; SHORT=$(curl -fsS "$LINKSTREAM_API_URL/v1/links" -H "Authorization: Bearer $LINKSTREAM_API_KEY" -H 'Content-Type: application/json' -d '{"destination":"https://example.com/hello"}' | sed 's/.*"short_url":"\([^"]*\)".*/\1/'); echo "$SHORT"

    curl -sSi -A Mozilla/5.0 "$SHORT"

    curl -fsS "$LINKSTREAM_API_URL/v1/analytics/summary?from=$(date -u +%%F)&to=$(date -u +%%F)&tz=UTC" -H "Authorization: Bearer $LINKSTREAM_API_KEY"

Ctrl-C stops everything; the data stay for the next start.
`,
		"dashboard", p.APIURL, "", login.Email, login.Password, "public API", p.APIURL, "API key", login.APIKey,
		edges.String(), s.folder.devEnv(), s.folder.dirs().Log, shellPath(s.folder.devEnv()))
}

func (s *stack) greetingOfStores() string {
	p := s.plan
	return fmt.Sprintf(`
The stores are running; migrations and services are yours to start.

    PostgreSQL   %s
    Kafka        %s
    Redis        %s
    ClickHouse   %s

All addresses are in %s. Ctrl-C stops everything; the data stay for the next start.
`, p.PostgresURL, p.KafkaBrokers, p.RedisURLList(), p.ClickHouseURL, s.folder.devEnv())
}

// shellPath quotes a path where a shell needs it.
func shellPath(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return strings.ContainsRune(" \t'\"\\$`&;()<>|*?[]#~!", r) }) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
