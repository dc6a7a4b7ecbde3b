package migrations_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/migrations"
)

const schemas = "../schemas"

// asyncapi is what these tests read of the document.
type asyncapi struct {
	Channels map[string]struct {
		Address  string
		Bindings struct {
			Kafka struct {
				Topic              string
				Partitions         int32
				TopicConfiguration map[string]any `yaml:"topicConfiguration"`
			}
		}
	}
	Operations map[string]struct {
		Channel struct {
			Ref string `yaml:"$ref"`
		}
	}
	Components struct {
		Messages map[string]struct {
			Name    string
			Headers headers
			Payload struct {
				Schema struct {
					Ref string `yaml:"$ref"`
				}
			}
		}
	}
}

type headers struct {
	Required   []string
	Properties map[string]struct {
		Const, Pattern string
		Enum           []string
		MaxLength      int `yaml:"maxLength"`
	}
}

func readAsyncAPI(t *testing.T, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(schemas, "asyncapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func TestAsyncAPIHasTheTopicsAndTheirSettings(t *testing.T) {
	var doc asyncapi
	readAsyncAPI(t, &doc)
	if len(doc.Channels) != len(events.Topics()) || len(doc.Operations) != len(events.Topics()) {
		t.Errorf("%d channels and %d operations for %d topics", len(doc.Channels), len(doc.Operations), len(events.Topics()))
	}
	for _, s := range migrations.TopicCatalogue() {
		found := false
		for name, c := range doc.Channels {
			kafka := c.Bindings.Kafka
			if c.Address != string(s.Topic) {
				continue
			}
			found = true
			if kafka.Topic != c.Address || kafka.Partitions != s.Partitions {
				t.Errorf("%s: topic %s with %d partitions, want %d", name, kafka.Topic, kafka.Partitions, s.Partitions)
			}
			got := map[string]string{}
			for key, value := range kafka.TopicConfiguration {
				if list, ok := value.([]any); ok {
					value = list[0]
				}
				got[strings.TrimPrefix(key, "x-")] = fmt.Sprint(value) // x-: the binding does not know the setting
			}
			if fmt.Sprint(got) != fmt.Sprint(s.Config) {
				t.Errorf("%s: settings %v, want %v", name, got, s.Config)
			}
		}
		if !found {
			t.Errorf("no channel for %s", s.Topic)
		}
	}
}

func (h headers) check(t *testing.T, what string, got []kgo.RecordHeader) {
	t.Helper()
	var keys []string
	for _, header := range got {
		keys = append(keys, header.Key)
		value, p := string(header.Value), h.Properties[header.Key]
		if p.Const != "" && value != p.Const || p.Pattern != "" && !regexp.MustCompile(p.Pattern).MatchString(value) ||
			p.Enum != nil && !slices.Contains(p.Enum, value) || p.MaxLength > 0 && len(value) > p.MaxLength {
			t.Errorf("%s: %s is %q, the document says %+v", what, header.Key, value, p)
		}
	}
	if !slices.Equal(keys, h.Required) || len(h.Properties) != len(keys) {
		t.Errorf("%s: the code writes %v, the document has %v", what, keys, h.Required)
	}
}

func TestAsyncAPIHasTheHeadersThatAreWritten(t *testing.T) {
	var doc asyncapi
	readAsyncAPI(t, &doc)
	id := make([]byte, 16)
	changed := doc.Components.Messages["linkChanged"]
	var types []string
	for kind := range eventspb.LinkChanged_Kind_name {
		record, err := events.LinkChangedRecord("", &eventspb.LinkChanged{
			LinkId: id, WorkspaceId: id, Address: &eventspb.Address{Host: "go.test", SlugKey: "s"}, Version: 1, Revision: 7,
			Kind: eventspb.LinkChanged_Kind(kind), ChangedAt: &timestamppb.Timestamp{Seconds: 1796025600}, Destination: "https://e.test/",
		})
		if kind == 0 {
			continue // refused
		}
		if err != nil {
			t.Fatal(err)
		}
		changed.Headers.check(t, "a change", record.Headers)
		types = append(types, string(record.Headers[2].Value))
	}
	if slices.Sort(types); !slices.Equal(types, []string{"linkstream.link.created", "linkstream.link.deleted", "linkstream.link.updated"}) {
		t.Errorf("types %v", types)
	}
	dead := events.DeadRecord(events.DeadClicks, "", &kgo.Record{Topic: "t"}, errors.New(strings.Repeat("x", 1000)))
	doc.Components.Messages["deadRecord"].Headers.check(t, "a dead record", dead.Headers)
	if tombstone := events.LinkTombstone("", id); len(tombstone.Headers) > 0 || len(doc.Components.Messages["linkTombstone"].Headers.Required) > 0 {
		t.Error("a tombstone has headers")
	}
}

func TestAsyncAPIPointsAtThingsThatExist(t *testing.T) {
	var doc asyncapi
	readAsyncAPI(t, &doc)
	for name, m := range doc.Components.Messages {
		if m.Payload.Schema.Ref == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(schemas, m.Payload.Schema.Ref))
		if err != nil {
			t.Fatal(err)
		}
		message := m.Name[strings.LastIndexByte(m.Name, '.')+1:]
		if !strings.Contains(string(text), "\nmessage "+message+" {") {
			t.Errorf("%s: %s has no message %s", name, m.Payload.Schema.Ref, message)
		}
	}
	for name, o := range doc.Operations {
		if _, ok := doc.Channels[strings.TrimPrefix(o.Channel.Ref, "#/channels/")]; !ok {
			t.Errorf("%s: there is no %s", name, o.Channel.Ref)
		}
	}
}

// The document against the schema that AsyncAPI publishes for documents (npm's
// @asyncapi/specs; the Makefile pins and fetches it).
func TestAsyncAPIIsValid(t *testing.T) {
	path := os.Getenv("LINKSTREAM_TEST_ASYNCAPI_SCHEMA")
	if path == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("LINKSTREAM_TEST_ASYNCAPI_SCHEMA is not set")
		}
		t.Skip("LINKSTREAM_TEST_ASYNCAPI_SCHEMA is not set: make test-go does")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	schema, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is fetched
	if err := compiler.AddResource("asyncapi.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("asyncapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	readAsyncAPI(t, &doc)
	if err := compiled.Validate(doc); err != nil {
		t.Errorf("%v", err)
	}
}
