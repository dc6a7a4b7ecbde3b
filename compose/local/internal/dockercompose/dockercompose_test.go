package dockercompose_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/linkstream/linkstream/compose/local/internal/plan"
)

const folder = "../../.."

// stacks are the files, and the regions and edges they are for.
var stacks = map[string]struct {
	regions []string
	edges   int // in each
}{
	"compose.yaml": {[]string{"fra"}, 2},
	"regions.yaml": {[]string{"fra", "ash", "sgp"}, 2},
}

var secrets = []string{"LINKSTREAM_POSTGRES_PASSWORD=one", "LINKSTREAM_TOKEN_PEPPER=one", "LINKSTREAM_WEBHOOKS_KEY=one", "LINKSTREAM_CLICKHOUSE_PASSWORD=two"}

// ours says that a service runs one of the project's own programs.
func ours(s types.ServiceConfig) bool { return strings.HasPrefix(s.Image, "linkstream/") }

func load(ctx context.Context, file string, environ ...string) (*types.Project, error) {
	options, err := cli.NewProjectOptions([]string{filepath.Join(folder, file)}, cli.WithEnv(environ), cli.WithWorkingDirectory(folder), cli.WithProfiles([]string{"*"}))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(ctx)
}

func mustLoad(t *testing.T, file string) *types.Project {
	t.Helper()
	project, err := load(t.Context(), file, secrets...)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return project
}

func TestAPasswordThatIsMissingIsNamed(t *testing.T) {
	for file := range stacks {
		for i, secret := range secrets {
			name, _, _ := strings.Cut(secret, "=")
			if _, err := load(t.Context(), file, slices.Delete(slices.Clone(secrets), i, i+1)...); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s without %s: %v", file, name, err)
			}
		}
	}
}

// What the local stack runs the Compose stacks run too, with the same settings.
func TestEveryServiceOfThePlanIsThereWithItsSettings(t *testing.T) {
	for file, want := range stacks {
		project := mustLoad(t, file)
		planned, err := plan.New(plan.Settings{Regions: want.regions, Edges: want.edges, Root: "/x", Bin: "/x"})
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, process := range planned.Services() {
			names[process.Name] = true
			service, ok := project.Services[process.Name]
			if !ok {
				t.Errorf("%s has no %s", file, process.Name)
				continue
			}
			if len(service.Command) != 1 || service.Command[0] != process.Binary {
				t.Errorf("%s: %s runs %v, want %s", file, process.Name, service.Command, process.Binary)
			}
			for key := range process.Env {
				// Server-Timing is for development, and limits that stop nobody are for load tools.
				// So are receivers of webhooks on this machine, and impatience with them.
				local := key == "LINKSTREAM_SERVER_TIMING" || slices.Contains([]string{
					"LINKSTREAM_WEBHOOKS_ALLOW_CIDRS", "LINKSTREAM_WEBHOOKS_RETRY_FIRST", "LINKSTREAM_WEBHOOKS_MIN_SUMMARY_INTERVAL",
				}, key) || strings.HasPrefix(key, "LINKSTREAM_RATE_")
				if _, ok := service.Environment[key]; !ok && !local {
					t.Errorf("%s: %s lacks %s", file, process.Name, key)
				}
			}
			for _, key := range []string{"LINKSTREAM_REGION", "LINKSTREAM_EDGE_NAME"} {
				got := service.Environment[key]
				if planned, ok := process.Env[key]; ok && (got == nil || *got != planned) {
					t.Errorf("%s: %s of %s is not %s", file, key, process.Name, planned)
				}
			}
			if region := process.Env["LINKSTREAM_REGION"]; region != "" {
				if got := service.Environment["LINKSTREAM_REDIS_URL"]; got == nil || *got != "redis://redis-"+region+":6379/0" {
					t.Errorf("%s: %s does not use its region's Redis", file, process.Name)
				}
			}
		}
		for name, service := range project.Services {
			if ours(service) && !names[name] && !slices.Contains([]string{"migrate", "places", "canary"}, name) {
				t.Errorf("%s has %s, which the plan does not know", file, name)
			}
		}
	}
}

// Every address in a setting is one of the file's own services, and what a service
// waits for is there (the loader checks that).
func TestAddressesLeadToServicesOfTheFile(t *testing.T) {
	for file := range stacks {
		project := mustLoad(t, file)
		for name, service := range project.Services {
			for key, value := range service.Environment {
				if value == nil || !strings.HasPrefix(key, "LINKSTREAM_") {
					continue
				}
				address := *value
				if _, rest, ok := strings.Cut(address, "://"); ok {
					address = rest
				}
				if _, rest, ok := strings.Cut(address, "@"); ok {
					address = rest
				}
				address, _, _ = strings.Cut(address, "/")
				host, port, err := net.SplitHostPort(address)
				if err != nil || host == "0.0.0.0" || host == "" || name == "gateway" && host == "localhost" || port == "" || strings.Contains(address, ",") {
					continue // no address, one it listens on, or one that browsers know
				}
				if _, ok := project.Services[host]; !ok {
					t.Errorf("%s: %s of %s leads to %s, which is not there", file, key, name, host)
				}
			}
		}
	}
}

func TestOnlyTheLoopbackAddressIsPublished(t *testing.T) {
	for file := range stacks {
		published := map[string]string{}
		for name, service := range mustLoad(t, file).Services {
			for _, port := range service.Ports {
				if port.HostIP != "127.0.0.1" {
					t.Errorf("%s: %s publishes %s on %q", file, name, port.Published, port.HostIP)
				}
				if other := published[port.Published]; other != "" {
					t.Errorf("%s: %s and %s publish %s", file, name, other, port.Published)
				}
				published[port.Published] = name
			}
		}
	}
}

func TestOurProgramsMayDoNothingTheyNeedNot(t *testing.T) {
	for file := range stacks {
		for name, service := range mustLoad(t, file).Services {
			if !ours(service) {
				continue
			}
			if !service.ReadOnly || !slices.Equal(service.CapDrop, []string{"ALL"}) || service.Privileged {
				t.Errorf("%s: %s may do more than it needs to", file, name)
			}
		}
	}
}

func TestPrometheusAsksEveryProgram(t *testing.T) {
	for file := range stacks {
		project := mustLoad(t, file)
		mounted := project.Services["prometheus"].Volumes
		at := slices.IndexFunc(mounted, func(v types.ServiceVolumeConfig) bool { return v.Target == "/etc/prometheus/prometheus.yml" })
		if at < 0 {
			t.Errorf("%s: Prometheus has no configuration", file)
			continue
		}
		text, err := os.ReadFile(mounted[at].Source)
		if err != nil {
			t.Error(err)
			continue
		}
		for name, service := range project.Services {
			admin := service.Environment["LINKSTREAM_ADMIN_ADDR"]
			if admin == nil {
				continue
			}
			_, port, err := net.SplitHostPort(*admin)
			asked := strings.Contains(string(text), name+":"+port) || // or only where it is started:
				strings.Contains(string(text), "names: ["+name+"]") && strings.Contains(string(text), "port: "+port)
			if err != nil || !asked {
				t.Errorf("%s: Prometheus does not ask %s at %s: %v", file, name, *admin, err)
			}
		}
	}
}

// Every alert has its paragraph in the runbook, links to it, and is tested.
//
// Guards I90.
func TestTheRunbookKnowsEveryAlert(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	rules, tests := read("prometheus/rules/alerting.yml"), read("prometheus/tests/alerting.yml")
	_, runbook, _ := strings.Cut(read("README.md"), "## When an alert fires")
	explained := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(runbook, -1) {
		explained[m[1]] = true
	}
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	if len(alerts) == 0 {
		t.Fatal("no alerts found")
	}
	for _, m := range alerts {
		name := m[1]
		if !explained[name] || !strings.Contains(rules, "runbook_url: compose/README.md#"+strings.ToLower(name)+"\n") {
			t.Errorf("%s: no paragraph in the runbook, or no link to it", name)
		}
		if !regexp.MustCompile(`alertname: ` + name + `\n\s+exp_alerts:\s+(\[\{|- )`).MatchString(tests) {
			t.Errorf("%s: no test in which it fires", name)
		}
		delete(explained, name)
	}
	for name := range explained {
		t.Errorf("the runbook explains %s, which is no alert", name)
	}
}

// A primary refuses writes once its replica is gone, with exactly the settings of the
// file, on a real Redis.
func TestAPrimaryWithoutItsReplicaRefusesWrites(t *testing.T) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("redis-server is missing: run `make install`")
		}
		t.Skip("redis-server is missing: run `make install`")
	}
	services := mustLoad(t, "regions.yaml").Services
	for _, region := range stacks["regions.yaml"].regions {
		name := "redis-" + region
		primary, replica := services[name].Command, services[name+"-replica"].Command
		if got, want := replica, append(slices.Clone(primary), "--replicaof", name, "6379"); !slices.Equal(got, want) {
			t.Errorf("the replica runs %v, want %v: it has the settings of a primary when it becomes one", got, want)
		}
	}
	command := services["redis-fra"].Command
	first, second := freePort(t), freePort(t)
	start := func(port int, more ...string) *exec.Cmd {
		args := append(slices.Clone([]string(command[1:])), "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", t.TempDir())
		cmd := exec.CommandContext(t.Context(), program, append(args, more...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	start(first)
	replica := start(second, "--replicaof", "127.0.0.1", strconv.Itoa(first))
	await := func(want string) {
		t.Helper()
		var got string
		var err error
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for begun := time.Now(); time.Since(begun) < 30*time.Second; <-tick.C {
			if got, err = ask(t.Context(), first, "SET key value"); strings.HasPrefix(got, want) {
				return
			}
		}
		t.Fatalf("a write is answered with %q, %v; want %s", got, err, want)
	}
	await("+OK")
	if err := replica.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await("-NOREPLICAS")
	if got, err := ask(t.Context(), first, "GET key"); err != nil || !strings.HasPrefix(got, "$5\r\nvalue") {
		t.Errorf("a read is answered with %q, %v", got, err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// ask sends one inline command.
func ask(ctx context.Context, port int, command string) (string, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		return "", err
	}
	answer := make([]byte, 1<<10)
	n, err := conn.Read(answer)
	return string(answer[:n]), err
}
