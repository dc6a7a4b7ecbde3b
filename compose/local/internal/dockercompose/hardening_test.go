package dockercompose_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// Every service that stays says how it is, may take so much and no more, and cannot fill
// the disk with its log.
//
// Guards I86.
func TestEveryServiceIsAskedAndBounded(t *testing.T) {
	for file := range stacks {
		for name, service := range mustLoad(t, file).Services {
			if service.Deploy == nil || service.Deploy.Resources.Limits == nil || service.Deploy.Resources.Limits.MemoryBytes == 0 || service.Deploy.Resources.Limits.NanoCPUs == 0 {
				t.Errorf("%s: %s has no limit of memory and processors", file, name)
			}
			if service.Logging == nil || service.Logging.Options["max-size"] == "" {
				t.Errorf("%s: the log of %s may fill the disk", file, name)
			}
			if ends(name) {
				continue
			}
			if service.HealthCheck == nil || len(service.HealthCheck.Test) < 2 || service.HealthCheck.Test[0] != "CMD" {
				t.Errorf("%s: nobody asks %s how it is", file, name)
			}
			if ours(service) {
				if !slices.Equal(service.HealthCheck.Test, []string{"CMD", "ready"}) {
					t.Errorf("%s: %s is asked by %v, which its image does not have", file, name, service.HealthCheck.Test)
				}
				if limit := service.Environment["GOMEMLIMIT"]; limit == nil {
					t.Errorf("%s: %s does not know its limit of memory", file, name)
				}
			}
		}
	}
}

// What a service asks at its start is there and well when it starts: nothing depends on
// the mere start of something that says how it is.
//
// Guards I86.
func TestDependenciesAreWaitedFor(t *testing.T) {
	for file := range stacks {
		project := mustLoad(t, file)
		for name, service := range project.Services {
			for needed, how := range service.DependsOn {
				want := types.ServiceConditionHealthy
				if ends(needed) {
					want = types.ServiceConditionCompletedSuccessfully
				}
				if how.Condition != want {
					t.Errorf("%s: %s starts when %s is %s", file, name, needed, how.Condition)
				}
			}
			if ours(service) && !ends(name) && name != "canary" {
				if _, ok := service.DependsOn["migrate"]; !ok {
					t.Errorf("%s: %s may start before the schema is there", file, name)
				}
			}
			region := service.Environment["LINKSTREAM_REGION"]
			if region == nil {
				continue
			}
			for needed := range service.DependsOn {
				if other, ok := strings.CutPrefix(needed, "redis-"); ok && !slices.Contains([]string{*region, *region + "-replica", "limits", "counts"}, other) {
					t.Errorf("%s: %s waits for %s, another region's", file, name, needed)
				}
			}
		}
	}
}

// ends says that a service does one thing and is done.
func ends(name string) bool { return name == "migrate" || name == "places" }

var pinned = regexp.MustCompile(`^[a-z0-9/.-]+:v?\d+\.\d+[a-z0-9.-]*$`)

// Guards I86.
func TestImagesArePinned(t *testing.T) {
	for file := range stacks {
		for name, service := range mustLoad(t, file).Services {
			if !ours(service) && !pinned.MatchString(service.Image) {
				t.Errorf("%s: the image of %s, %s, names no version", file, name, service.Image)
			}
		}
	}
	for _, stage := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(dockerfile(t), -1) {
		if strings.Contains(stage[1], ":") && !pinned.MatchString(stage[1]) {
			t.Errorf("the Dockerfile begins with %s, which names no version", stage[1])
		}
	}
}

// A secret is a variable that has to be set, never a value in a file of the repository.
//
// Guards I86.
func TestNoFileHoldsASecret(t *testing.T) {
	secret := regexp.MustCompile(`(?i)(password|pepper|secret|api_key)\w*\s*[:=]\s*(\S.*)?$`)
	for _, file := range []string{"compose.yaml", "regions.yaml", ".env.example"} {
		for line := range strings.Lines(read(t, file)) {
			line = strings.TrimSpace(line)
			m := secret.FindStringSubmatch(line)
			if m == nil || m[2] == "" || strings.HasPrefix(m[2], "${") || strings.HasPrefix(line, "#") {
				continue
			}
			t.Errorf("%s: %s", file, line)
		}
	}
	example := read(t, ".env.example")
	for _, s := range secrets {
		name, _, _ := strings.Cut(s, "=")
		if !strings.Contains(example, "\n"+name+"=\n") || !strings.Contains(read(t, "README.md"), name+"=$(openssl") {
			t.Errorf("%s is not in .env.example, or not in the README's command", name)
		}
	}
}

// The images hold a program and no system around it, one program each, and what is built
// is what the workspace has.
//
// Guards I86.
func TestImagesAreBuiltFromNothing(t *testing.T) {
	text := dockerfile(t)
	for _, want := range []string{"\nFROM scratch AS service\n", "\nUSER 65532:65532\n", "GOWORK=off", "CGO_ENABLED=0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}
	for _, service := range mustLoad(t, "compose.yaml").Services {
		if !ours(service) {
			if service.Build != nil {
				t.Errorf("%s is built", service.Name)
			}
			continue
		}
		if service.Name == "places" {
			continue // no program of ours
		}
		program, args := service.Command[0], service.Build.Args
		if args["PROGRAM"] == nil || *args["PROGRAM"] != program || service.Image != "linkstream/"+program+":dev" {
			t.Errorf("%s runs %s from the image %s of %v", service.Name, program, service.Image, args)
		}
		module := "services/" + program
		if m := args["MODULE"]; m != nil {
			module = *m
		}
		if _, err := os.Stat(filepath.Join(folder, "..", module, "cmd", program)); err != nil {
			t.Errorf("%s: %v", service.Name, err)
		}
		if !strings.Contains(text, " AS "+service.Build.Target+"\n") {
			t.Errorf("%s: the Dockerfile has no target %s", service.Name, service.Build.Target)
		}
		has := slices.ContainsFunc(service.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Source == "places" && v.ReadOnly })
		if reads := service.Environment["LINKSTREAM_GEO_COUNTRY_FILE"] != nil; reads != has {
			t.Errorf("%s: it reads the file of countries: %v; it has it: %v", service.Name, reads, has)
		}
	}
}

// The gateway leads to every edge, and visitors' addresses are believed from it alone.
//
// Guards I86.
func TestTheGatewayLeadsToEveryEdge(t *testing.T) {
	caddyfile := read(t, "Caddyfile")
	for file := range stacks {
		services := mustLoad(t, file).Services
		gateway := services["gateway"].Environment
		given := strings.Fields(*gateway["LINKSTREAM_GATEWAY_EDGES"])
		var want, canary []string
		for name, service := range services {
			if service.Environment["LINKSTREAM_EDGE_NAME"] != nil {
				want, canary = append(want, name+":8080"), append(canary, "http://"+name+":8080")
				if service.Environment["LINKSTREAM_TRUSTED_PROXIES"] == nil {
					t.Errorf("%s: %s takes the gateway for every visitor", file, name)
				}
			}
		}
		asked := strings.Split(*services["canary"].Environment["LINKSTREAM_CANARY_EDGES"], ",")
		for _, list := range [][]string{given, want, asked, canary} {
			slices.Sort(list)
		}
		if !slices.Equal(given, want) {
			t.Errorf("%s: the gateway leads to %v, the edges are %v", file, given, want)
		}
		if !slices.Equal(asked, canary) {
			t.Errorf("%s: the canary asks %v, the edges are %v", file, asked, canary)
		}
		for _, name := range regexp.MustCompile(`\{\$(\w+)\}`).FindAllStringSubmatch(caddyfile, -1) {
			if gateway[name[1]] == nil {
				t.Errorf("%s: the gateway's file needs %s", file, name[1])
			}
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func dockerfile(t *testing.T) string {
	t.Helper()
	return read(t, "Dockerfile")
}
