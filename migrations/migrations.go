// Package migrations holds everything that has to exist before a service
// starts: the Postgres and ClickHouse schemas and the topics, and what applies
// them.
//
// Migrations only go forward, and a landed file never changes. The previous
// release must run on the new schema, so a column is added in one release, used
// in the next and dropped in a third. No service applies them: cmd/migrate does.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed postgres/*.sql
var postgresFiles embed.FS

//go:embed clickhouse/*.sql
var clickhouseFiles embed.FS

// Postgres applies what is missing and returns the names of the files it
// applied. Two at once are safe: one waits on a session lock.
func Postgres(ctx context.Context, db *sql.DB) ([]string, error) {
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, fmt.Errorf("preparing the migration lock: %w", err)
	}
	return up(ctx, goose.DialectPostgres, db, postgresFiles, "postgres", goose.WithSessionLocker(locker))
}

func up(ctx context.Context, dialect goose.Dialect, db *sql.DB, files fs.FS, dir string, options ...goose.ProviderOption) ([]string, error) {
	sub, err := fs.Sub(files, dir)
	if err != nil {
		return nil, fmt.Errorf("opening the %s migrations: %w", dir, err)
	}
	provider, err := goose.NewProvider(dialect, db, sub, options...)
	if err != nil {
		return nil, fmt.Errorf("reading the %s migrations: %w", dir, err)
	}
	results, err := provider.Up(ctx)
	var applied []string
	for _, r := range results {
		if r.Error == nil {
			applied = append(applied, dir+"/"+r.Source.Path)
		}
	}
	if err != nil {
		return applied, fmt.Errorf("migrating %s: %w", dir, err)
	}
	return applied, nil
}
