package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/linkstream/linkstream/events"
)

// The schemas as proto3, which says the same as what is in schemas/: registries read
// it, and many of them do not read editions. `make generate` writes them.
//
//go:embed registry/*.proto
var registrySchemas embed.FS

// RegisteredSchema is what a registry holds of one topic.
type RegisteredSchema struct {
	Topic events.Topic
	File  string // in registry/
}

// RegisteredSchemas lists the topics whose values have a schema. Keys are 16 plain
// bytes, and dead topics hold whatever did not decode.
func RegisteredSchemas() []RegisteredSchema {
	return []RegisteredSchema{
		{events.LinksChangelog, "link_changed.proto"},
		{events.Clicks, "click.proto"},
	}
}

// registryTimeout bounds one request to a registry.
const registryTimeout = 10 * time.Second

// RegisterSchemas registers the schema of each topic under the subject
// <topic>-value and returns the subjects that have a new version. The registry refuses
// what is not compatible with every version before it, in both directions
// (FULL_TRANSITIVE): readers meet old records, which a compacted topic keeps for ever,
// and readers of an old release meet new ones.
//
// The URL may hold a user and a password; no error repeats it.
func RegisterSchemas(ctx context.Context, registry, prefix string) ([]string, error) {
	client, err := registryClient(registry)
	if err != nil {
		return nil, err
	}
	var added []string
	for _, r := range RegisteredSchemas() {
		text, err := registrySchemas.ReadFile("registry/" + r.File)
		if err != nil {
			return added, fmt.Errorf("reading the schema of %s: %w", r.Topic, err)
		}
		subject := r.Topic.Name(prefix) + "-value"
		for _, result := range client.SetCompatibility(ctx, sr.SetCompatibility{Level: sr.CompatFullTransitive}, subject) {
			if result.Err != nil {
				return added, fmt.Errorf("setting the compatibility of %s: %w", subject, result.Err)
			}
		}
		before, err := client.SubjectVersions(ctx, subject)
		if err != nil && !isNotFound(err) {
			return added, fmt.Errorf("asking for the versions of %s: %w", subject, err)
		}
		if _, err := client.RegisterSchema(ctx, subject, sr.Schema{Schema: string(text), Type: sr.TypeProtobuf}, -1, -1); err != nil {
			return added, fmt.Errorf("registering %s: %w", subject, err)
		}
		after, err := client.SubjectVersions(ctx, subject)
		if err != nil {
			return added, fmt.Errorf("asking for the versions of %s: %w", subject, err)
		}
		if !slices.Equal(before, after) {
			added = append(added, subject)
		}
	}
	return added, nil
}

func isNotFound(err error) bool {
	answer, ok := errors.AsType[*sr.ResponseError](err)
	return ok && answer.StatusCode == http.StatusNotFound
}

// registryClient is a client of the registry at a URL. Names and password of the URL go
// into a header.
func registryClient(registry string) (*sr.Client, error) {
	u, err := url.Parse(registry)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the schema registry must be a URL, for instance http://127.0.0.1:8081")
	}
	options := []sr.ClientOpt{sr.HTTPClient(&http.Client{Timeout: registryTimeout}), sr.UserAgent("linkstream-migrate")}
	if u.User != nil {
		password, _ := u.User.Password()
		options = append(options, sr.BasicAuth(u.User.Username(), password))
		u.User = nil
	}
	client, err := sr.NewClient(append(options, sr.URLs(strings.TrimSuffix(u.String(), "/")))...)
	if err != nil {
		return nil, fmt.Errorf("making the registry's client: %w", err)
	}
	return client, nil
}
