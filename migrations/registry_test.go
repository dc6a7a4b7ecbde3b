package migrations_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/linkstream/linkstream/migrations"
)

func TestSchemasAreRegisteredOnceAndCompatibleForEver(t *testing.T) {
	const secret = "pa55"
	registry := srfake.New(srfake.WithAuth("Basic ZXZlbnRzOnBhNTU=")) // events:pa55
	defer registry.Close()
	address := strings.Replace(registry.URL(), "http://", "http://events:"+secret+"@", 1)
	added, err := migrations.RegisterSchemas(t.Context(), address, "eu.")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"eu.linkstream.links.changelog.v1-value", "eu.linkstream.clicks.v1-value"}
	if strings.Join(added, " ") != strings.Join(want, " ") {
		t.Errorf("registered %v, want %v", added, want)
	}
	again, err := migrations.RegisterSchemas(t.Context(), address, "eu.")
	if err != nil || len(again) != 0 {
		t.Errorf("the second time %v, %v", again, err)
	}
	client, err := sr.NewClient(sr.URLs(registry.URL()), sr.BasicAuth("events", secret))
	if err != nil {
		t.Fatal(err)
	}
	for i, subject := range want {
		got, ok := registry.GetSchema(subject, 1)
		if !ok || got.Type != sr.TypeProtobuf || !strings.HasPrefix(got.Schema.Schema, `syntax = "proto3";`) {
			t.Errorf("%s: %v %+v", subject, ok, got)
		}
		message := []string{"message LinkChanged {", "message Click {"}[i]
		if first := regexp.MustCompile(`(?m)^message .*$`).FindString(got.Schema.Schema); first != message {
			t.Errorf("the first message of %s is %q: readers take that one", subject, first)
		}
		if level := client.Compatibility(t.Context(), subject); level[0].Err != nil || level[0].Level != sr.CompatFullTransitive {
			t.Errorf("%s: compatibility %+v", subject, level)
		}
	}
}

func TestARefusalOfTheRegistryIsToldWithoutItsPassword(t *testing.T) {
	registry := srfake.New()
	defer registry.Close()
	registry.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"error_code":409,"message":"field 9 has changed its type"}`))
		return true
	})
	address := strings.Replace(registry.URL(), "http://", "http://events:pa55@", 1)
	_, err := migrations.RegisterSchemas(t.Context(), address, "")
	if err == nil || !strings.Contains(err.Error(), "linkstream.links.changelog.v1-value") || !strings.Contains(err.Error(), "field 9") || strings.Contains(err.Error(), "pa55") {
		t.Errorf("got %v", err)
	}
	registry.Close()
	if _, err = migrations.RegisterSchemas(t.Context(), address, ""); err == nil || strings.Contains(err.Error(), "pa55") {
		t.Errorf("of one that is away: %v", err)
	}
	if _, err = migrations.RegisterSchemas(t.Context(), "events:pa55@host", ""); err == nil || strings.Contains(err.Error(), "pa55") {
		t.Errorf("of no URL: %v", err)
	}
}

// What is registered differs from the source in two lines that mean the same.
func TestRegisteredSchemasAreTheSources(t *testing.T) {
	implicit := regexp.MustCompile(`(?m)^option features\.field_presence = IMPLICIT;\n`)
	for _, r := range migrations.RegisteredSchemas() {
		source, err := os.ReadFile(filepath.Join("..", "schemas", "linkstream", "events", "v1", r.File))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("registry", r.File))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(implicit.ReplaceAllString(string(source), ""), `edition = "2023";`, `syntax = "proto3";`, 1)
		if string(got) != want {
			t.Errorf("registry/%s is not current: run make generate", r.File)
		}
		if strings.Contains(want, "features.") {
			t.Errorf("%s uses a feature that proto3 does not have", r.File)
		}
	}
}
