package kubernetes_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/linkstream/linkstream/compose/local/internal/plan"
)

const folder = "../../../kubernetes"

// overlays are what is applied, and the regions and edges they are for.
var overlays = map[string][]string{
	"one-region":    {"fra"},
	"three-regions": {"fra", "ash", "sgp"},
}

const edges = 2 // in each region

// built is an overlay, decoded.
type built struct {
	workloads map[string]workload
	services  map[string]corev1.Service
	configs   map[string]corev1.ConfigMap
	budgets   map[string]policyv1.PodDisruptionBudget
	ingresses map[string]networkingv1.Ingress
	policies  map[string]networkingv1.NetworkPolicy
}

// workload is what makes pods, whatever its kind.
type workload struct {
	kind     string
	replicas int32
	selector map[string]string
	pod      corev1.PodTemplateSpec
	claims   []corev1.PersistentVolumeClaim
	service  string // of a StatefulSet
}

func decode[T any](t *testing.T, text []byte) T {
	t.Helper()
	var out T
	if err := yaml.UnmarshalStrict(text, &out); err != nil {
		t.Errorf("%v in:\n%s", err, text)
	}
	return out
}

// build builds an overlay. A field that Kubernetes does not know, one of the wrong type,
// or a kind that is not expected fails the test.
func build(t *testing.T, overlay string) built {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(folder, "overlays", overlay))
	if err != nil {
		t.Fatalf("%s: %v", overlay, err)
	}
	b := built{
		map[string]workload{},
		map[string]corev1.Service{},
		map[string]corev1.ConfigMap{},
		map[string]policyv1.PodDisruptionBudget{},
		map[string]networkingv1.Ingress{},
		map[string]networkingv1.NetworkPolicy{},
	}
	for _, r := range made.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		name := r.GetName()
		if r.GetNamespace() != "linkstream" {
			t.Errorf("%s: %s %s is in the namespace %q", overlay, r.GetKind(), name, r.GetNamespace())
		}
		switch r.GetApiVersion() + " " + r.GetKind() {
		case "apps/v1 Deployment":
			d := decode[appsv1.Deployment](t, text)
			b.workloads[name] = workload{"Deployment", *d.Spec.Replicas, d.Spec.Selector.MatchLabels, d.Spec.Template, nil, ""}
		case "apps/v1 StatefulSet":
			s := decode[appsv1.StatefulSet](t, text)
			b.workloads[name] = workload{"StatefulSet", *s.Spec.Replicas, s.Spec.Selector.MatchLabels, s.Spec.Template, s.Spec.VolumeClaimTemplates, s.Spec.ServiceName}
		case "batch/v1 Job":
			j := decode[batchv1.Job](t, text)
			b.workloads[name] = workload{"Job", 1, nil, j.Spec.Template, nil, ""}
		case "v1 Service":
			b.services[name] = decode[corev1.Service](t, text)
		case "v1 ConfigMap":
			b.configs[name] = decode[corev1.ConfigMap](t, text)
		case "v1 ServiceAccount":
			decode[corev1.ServiceAccount](t, text)
		case "policy/v1 PodDisruptionBudget":
			b.budgets[name] = decode[policyv1.PodDisruptionBudget](t, text)
		case "networking.k8s.io/v1 NetworkPolicy":
			b.policies[name] = decode[networkingv1.NetworkPolicy](t, text)
		case "networking.k8s.io/v1 Ingress":
			b.ingresses[name] = decode[networkingv1.Ingress](t, text)
		default:
			t.Errorf("%s: %s %s %s is not checked: add it here", overlay, r.GetApiVersion(), r.GetKind(), name)
		}
	}
	return b
}

// setting is what a container has a variable from.
func setting(c corev1.Container, name string) *corev1.EnvVar {
	if i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name }); i >= 0 {
		return &c.Env[i]
	}
	return nil
}

// What the local stack runs the cluster runs too, with the same settings.
//
// Guards I86.
func TestEveryServiceOfThePlanIsThereWithItsSettings(t *testing.T) {
	for overlay, regions := range overlays {
		b := build(t, overlay)
		planned, err := plan.New(plan.Settings{Regions: regions, Edges: edges, Root: "/x", Bin: "/x"})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{"migrate": true, "canary": true}
		for _, process := range planned.Services() {
			name := process.Name
			if process.Binary == "redirect" {
				name = name[:strings.LastIndex(name, "-")] // a StatefulSet numbers them, as the plan does
			}
			seen[name] = true
			w, ok := b.workloads[name]
			if !ok {
				t.Errorf("%s has no %s", overlay, name)
				continue
			}
			c := w.pod.Spec.Containers[0]
			if !slices.Equal(c.Args, []string{process.Binary}) || c.Image != "linkstream/"+process.Binary+":dev" {
				t.Errorf("%s: %s runs %v of %s", overlay, name, c.Args, c.Image)
			}
			for key := range process.Env {
				local := slices.Contains([]string{
					"LINKSTREAM_SERVER_TIMING", "LINKSTREAM_WEBHOOKS_ALLOW_CIDRS", "LINKSTREAM_WEBHOOKS_RETRY_FIRST", "LINKSTREAM_WEBHOOKS_MIN_SUMMARY_INTERVAL",
				}, key) || strings.HasPrefix(key, "LINKSTREAM_RATE_")
				if setting(c, key) == nil && !local {
					t.Errorf("%s: %s lacks %s", overlay, name, key)
				}
			}
			if region := process.Env["LINKSTREAM_REGION"]; region != "" {
				config := b.configs[setting(c, "LINKSTREAM_REGION").ValueFrom.ConfigMapKeyRef.Name].Data
				if config["LINKSTREAM_REGION"] != region || config["LINKSTREAM_REDIS_URL"] != "redis://redis-"+region+":6379/0" {
					t.Errorf("%s: %s has the region's settings %v", overlay, name, config)
				}
			}
		}
		for name, w := range b.workloads {
			if strings.HasPrefix(w.pod.Spec.Containers[0].Image, "linkstream/") && !seen[name] {
				t.Errorf("%s has %s, which the plan does not know", overlay, name)
			}
		}
	}
}

var pinned = regexp.MustCompile(`^[a-z0-9/.-]+:(v?\d+\.\d+[a-z0-9.-]*|dev)$`)

// Guards I86.
func TestPodsMayDoNothingTheyNeedNot(t *testing.T) {
	for overlay := range overlays {
		for name, w := range build(t, overlay).workloads {
			spec := w.pod.Spec
			if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken || spec.HostNetwork || spec.HostPID {
				t.Errorf("%s: %s may talk to the cluster, or sees the machine", overlay, name)
			}
			p := spec.SecurityContext
			if p == nil || p.RunAsNonRoot == nil || !*p.RunAsNonRoot || p.RunAsUser == nil || *p.RunAsUser == 0 || p.SeccompProfile == nil || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: %s may run as root, or call anything", overlay, name)
			}
			for _, c := range append(slices.Clone(spec.Containers), spec.InitContainers...) {
				s := c.SecurityContext
				if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
					t.Errorf("%s: %s may become more than it is", overlay, name)
				}
				if strings.HasPrefix(c.Image, "linkstream/") && (s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem) {
					t.Errorf("%s: %s may write where it need not", overlay, name)
				}
				if !pinned.MatchString(c.Image) {
					t.Errorf("%s: the image of %s, %s, names no version", overlay, name, c.Image)
				}
				if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
					t.Errorf("%s: %s has no limit of memory, or asks for no processor", overlay, name)
				}
				if w.kind != "Job" && c.Name != "places" && c.ReadinessProbe == nil {
					t.Errorf("%s: nobody asks %s how it is", overlay, name)
				}
			}
		}
	}
}

// Everything that is named is there: settings, services, the pods that services and
// budgets choose, ports. Secrets are named only, and all their keys are in the README.
//
// Guards I86.
func TestWhatIsNamedIsThere(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for overlay := range overlays {
		b := build(t, overlay)
		for name, w := range b.workloads {
			reads := setting(w.pod.Spec.Containers[0], "LINKSTREAM_GEO_COUNTRY_FILE") != nil
			if has := len(w.pod.Spec.InitContainers) == 1; reads != has {
				t.Errorf("%s: %s reads the file of countries: %v; it has it: %v", overlay, name, reads, has)
			}
			for _, e := range w.pod.Spec.Containers[0].Env {
				checkSetting(t, overlay+": "+name, b, e, string(readme))
			}
			if w.kind == "StatefulSet" {
				if _, ok := b.services[w.service]; !ok {
					t.Errorf("%s: %s is numbered under the service %s, which is not there", overlay, name, w.service)
				}
			}
			for key, value := range w.selector {
				if w.pod.Labels[key] != value {
					t.Errorf("%s: %s does not choose its own pods", overlay, name)
				}
			}
		}
		for name, s := range b.services {
			chosen := chosenBy(b, s.Spec.Selector)
			if len(chosen) != 1 {
				t.Errorf("%s: the service %s leads to %v", overlay, name, chosen)
				continue
			}
			for _, port := range s.Spec.Ports {
				open := b.workloads[chosen[0]].pod.Spec.Containers[0].Ports
				if !slices.ContainsFunc(open, func(p corev1.ContainerPort) bool {
					return p.Name == port.TargetPort.String() && p.ContainerPort == port.Port
				}) {
					t.Errorf("%s: the service %s leads to port %s, which is not open", overlay, name, port.TargetPort.String())
				}
			}
		}
		for name, budget := range b.budgets {
			if chosen := chosenBy(b, budget.Spec.Selector.MatchLabels); len(chosen) != 1 || b.workloads[chosen[0]].replicas < 2 {
				t.Errorf("%s: the budget %s is of %v", overlay, name, chosen)
			}
		}
		hosts := map[string]string{}
		for name, i := range b.ingresses {
			for _, rule := range i.Spec.Rules {
				if other := hosts[rule.Host]; other != "" {
					t.Errorf("%s: %s and %s are for %s", overlay, other, name, rule.Host)
				}
				hosts[rule.Host] = name
				if !slices.Contains(i.Spec.TLS[0].Hosts, rule.Host) {
					t.Errorf("%s: %s is without TLS", overlay, rule.Host)
				}
				for _, path := range rule.HTTP.Paths {
					if _, ok := b.services[path.Backend.Service.Name]; !ok {
						t.Errorf("%s: %s leads to %s, which is not there", overlay, name, path.Backend.Service.Name)
					}
				}
			}
		}
		if policy, ok := b.policies["default-deny"]; !ok || len(policy.Spec.Ingress) != 0 || len(policy.Spec.PodSelector.MatchLabels) != 0 {
			t.Errorf("%s: whoever is not named reaches something", overlay)
		}
	}
}

// address finds the host of a setting's value, where it has one.
var address = regexp.MustCompile(`^(?:\w+://)?(?:[^@/]*@)?([a-z][a-z0-9-]*):\d+`)

func checkSetting(t *testing.T, where string, b built, e corev1.EnvVar, readme string) {
	t.Helper()
	values := []string{e.Value}
	if from := e.ValueFrom; from != nil {
		switch {
		case from.ConfigMapKeyRef != nil:
			value, ok := b.configs[from.ConfigMapKeyRef.Name].Data[from.ConfigMapKeyRef.Key]
			if !ok {
				t.Errorf("%s: %s comes from %s in %s, which is not there", where, e.Name, from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Name)
			}
			values = strings.Split(value, ",")
		case from.SecretKeyRef != nil:
			if from.SecretKeyRef.Name != "linkstream-secrets" || !strings.Contains(readme, "--from-literal="+from.SecretKeyRef.Key+"=") {
				t.Errorf("%s: %s comes from the secret %s/%s, of which the README says nothing", where, e.Name, from.SecretKeyRef.Name, from.SecretKeyRef.Key)
			}
		}
	} else if regexp.MustCompile(`PASSWORD|PEPPER|SECRET|API_KEY`).MatchString(e.Name) {
		t.Errorf("%s: %s is a secret in a file", where, e.Name)
	}
	for _, value := range values {
		m := address.FindStringSubmatch(value)
		if m == nil {
			continue
		}
		if _, ok := b.services[m[1]]; !ok {
			t.Errorf("%s: %s leads to %s, which is not there", where, e.Name, m[1])
		}
	}
}

// chosenBy are the workloads whose pods have the labels.
func chosenBy(b built, labels map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(b.workloads)) {
		has := b.workloads[name].pod.Labels
		all := true
		for key, value := range labels {
			all = all && has[key] == value
		}
		if all {
			out = append(out, name)
		}
	}
	return out
}

// An edge keeps its journal when its pod goes, and a region's Redis has the settings of
// the Compose stack.
//
// Guards I86.
func TestEdgesKeepTheirJournals(t *testing.T) {
	for overlay, regions := range overlays {
		b := build(t, overlay)
		for _, region := range regions {
			w := b.workloads["redirect-"+region]
			c := w.pod.Spec.Containers[0]
			mount := slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "journal" })
			if len(w.claims) != 1 || w.claims[0].Name != "journal" || mount < 0 ||
				!strings.HasPrefix(setting(c, "LINKSTREAM_JOURNAL_DIR").Value, c.VolumeMounts[mount].MountPath) {
				t.Errorf("%s: edges of %s lose their journals", overlay, region)
			}
			if w.replicas != edges {
				t.Errorf("%s: %s has %d edges", overlay, region, w.replicas)
			}
			primary, replica := b.workloads["redis-"+region], b.workloads["redis-replica-"+region]
			if want := append(slices.Clone(primary.pod.Spec.Containers[0].Args), "--replicaof", "$(REDIS_PRIMARY)", "6379"); !slices.Equal(replica.pod.Spec.Containers[0].Args, want) {
				t.Errorf("%s: the replica of %s runs %v, want %v", overlay, region, replica.pod.Spec.Containers[0].Args, want)
			}
			if config := b.configs[setting(replica.pod.Spec.Containers[0], "REDIS_PRIMARY").ValueFrom.ConfigMapKeyRef.Name].Data; config["REDIS_PRIMARY"] != "redis-"+region {
				t.Errorf("%s: the replica of %s follows %s", overlay, region, config["REDIS_PRIMARY"])
			}
		}
	}
}
