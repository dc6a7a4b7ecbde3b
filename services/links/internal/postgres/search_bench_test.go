package postgres_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

// BenchmarkList asks for pages of 100,000 links of one workspace.
func BenchmarkList(b *testing.B) {
	pool, err := postgres.Open(b.Context(), pgtest.New(b), 4)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	store, workspace := postgres.New(pool, "go.test", tombstoneGrace), uuid.New()
	for _, statement := range []string{
		`INSERT INTO workspaces (id, name) VALUES ('` + workspace.String() + `', 'w')`,
		`INSERT INTO domains (id, host) VALUES (gen_random_uuid(), 'go.test')`,
		`INSERT INTO links (id, workspace_id, domain_id, slug, slug_key, destination, title, tags, version, revision, created_at)
			SELECT gen_random_uuid(), w.id, d.id, s, s, 'https://www.example.com/landing/' || s || '?utm_source=newsletter&utm_campaign=spring',
				'Spring sale ' || i, ARRAY['t' || i % 1000], 1, i, now() - i * interval '1 second'
			FROM workspaces w, domains d, (SELECT i, substr(md5(i::text), 1, 12) AS s FROM generate_series(1, 100000) AS i) AS n`,
		`VACUUM ANALYZE links`,
	} {
		if _, err := pool.Exec(b.Context(), `SET statement_timeout = 0`); err != nil {
			b.Fatal(err)
		}
		if _, err := pool.Exec(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	for {
		n, err := store.ReadTexts(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if n == 0 {
			break
		}
	}
	if _, err := pool.Exec(b.Context(), `VACUUM ANALYZE links, link_texts`); err != nil {
		b.Fatal(err)
	}
	archived := true
	for name, f := range map[string]link.Filter{
		"all":           {},
		"title":         {Query: "SALE 99999"},
		"destination":   {Query: "example.com/landing/c4ca4238"},
		"common":        {Query: "spring"},
		"nothing":       {Query: "no such text"},
		"two_letters":   {Query: "zz"},
		"tag":           {Tag: "t77"},
		"none_archived": {Archived: &archived},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := store.List(b.Context(), workspace, f, nil, 50); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
