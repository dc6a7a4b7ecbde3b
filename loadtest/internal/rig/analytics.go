package rig

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The ports of the analytics service, before the base is added.
const (
	portAnalytics  = 8020
	adminAnalytics = 9020
)

// CheckAnalytics says what is missing to start a rig for analytics.
func CheckAnalytics(bin string) error {
	var missing []error
	for _, name := range []string{"stack", "broker", "clickhouse", "migrate", "links", "analytics"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			missing = append(missing, fmt.Errorf("the program %s is not built: run `make build`", filepath.Join(bin, name)))
		}
	}
	return errors.Join(missing...)
}

// keptKey opens the workspace of stores that are kept, whenever they are started again.
const keptKey = "ls_key_of-a-data-set-for-load-tests-of-no-use-elsewhere"

// StartAnalytics starts the stores and links with the programs in bin, all of
// them on every processor; ServeAnalytics starts analytics. With a folder the stores are kept there, and started with what
// they had; without, they are thrown away at the end. Close has to be called in any case.
func StartAnalytics(ctx context.Context, bin, folder string, environ []string) (*Rig, error) {
	r := &Rig{everywhere: true, environ: slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		return strings.HasPrefix(pair, "LINKSTREAM_") && !strings.HasPrefix(pair, "LINKSTREAM_CHDB_LIB=")
	})}
	var err error
	if r.bin, err = filepath.Abs(bin); err != nil {
		return r, fmt.Errorf("locating %s: %w", bin, err)
	}
	if err := r.makeFolder(folder); err != nil {
		return r, err
	}
	if r.base, err = freeBase(ctx); err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for _, step := range []func(context.Context) error{r.startStores, r.prepareStores, r.migrateClicks} {
		if err := step(ctx); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *Rig) makeFolder(kept string) error {
	var err error
	if kept == "" {
		r.dir, err = os.MkdirTemp("", "linkstream-load-")
	} else if r.dir, err = filepath.Abs(kept); err == nil {
		r.kept = true
		err = os.MkdirAll(r.dir, 0o755)
	}
	if err == nil {
		err = os.Chmod(r.dir, 0o755) // Postgres runs as another user
	}
	if err == nil {
		// It says where the stores were the last time.
		if err = os.Remove(filepath.Join(r.stackDir(), "dev.env")); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	return nil
}

func (r *Rig) migrateClicks(ctx context.Context) error {
	if _, err := r.once(ctx, map[string]string{"LINKSTREAM_CLICKHOUSE_URL": r.ClickHouseURL()}, "migrate", "clickhouse"); err != nil {
		return err
	}
	links, err := r.service("links", map[string]string{
		"LINKSTREAM_HTTP_ADDR":      r.addr(portLinks),
		"LINKSTREAM_RPC_ADDR":       r.addr(portRPC),
		"LINKSTREAM_ADMIN_ADDR":     r.addr(adminLinks),
		"LINKSTREAM_TOKEN_PEPPER":   tokenPepper,
		"LINKSTREAM_POSTGRES_URL":   r.stores["LINKSTREAM_POSTGRES_URL"],
		"LINKSTREAM_KAFKA_BROKERS":  r.stores["LINKSTREAM_KAFKA_BROKERS"],
		"LINKSTREAM_DEFAULT_DOMAIN": Domain,
	})
	if err != nil {
		return err
	}
	return links.untilReady(ctx, r.addr(adminLinks))
}

// ServeAnalytics starts the analytics service, which settles the days that are there.
func (r *Rig) ServeAnalytics(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	analytics, err := r.service("analytics", map[string]string{
		"LINKSTREAM_HTTP_ADDR":      r.addr(portAnalytics),
		"LINKSTREAM_ADMIN_ADDR":     r.addr(adminAnalytics),
		"LINKSTREAM_ACCESS_URL":     "http://" + r.addr(portRPC),
		"LINKSTREAM_CLICKHOUSE_URL": r.ClickHouseURL(),
		"LINKSTREAM_KAFKA_BROKERS":  r.stores["LINKSTREAM_KAFKA_BROKERS"],
		"LINKSTREAM_RATE_CAPACITY":  "100000",
		"LINKSTREAM_RATE_REFILL":    "10000",
		// A run that was interrupted goes on with the days that are left.
		"LINKSTREAM_SETTLE_INTERVAL": "10s",
	})
	if err != nil {
		return err
	}
	return analytics.untilReady(ctx, r.addr(adminAnalytics))
}

// Folder is where the stores are.
func (r *Rig) Folder() string { return r.dir }

// AnalyticsURL is the address of the analytics API, and Key opens it.
func (r *Rig) AnalyticsURL() string { return "http://" + r.addr(portAnalytics) }

// Key is an API key with all rights in Workspace.
func (r *Rig) Key() string { return r.apiKey }

// Workspace is the id of the key's workspace.
func (r *Rig) Workspace() string { return r.workspace }

// ClickHouseURL is that of the database.
func (r *Rig) ClickHouseURL() string { return r.stores["LINKSTREAM_CLICKHOUSE_URL"] }

// ClickHouseAddr is where statements can be posted to, and the database that they are for.
func (r *Rig) ClickHouseAddr() (address, database string, err error) {
	u, err := url.Parse(r.ClickHouseURL())
	if err != nil {
		return "", "", fmt.Errorf("reading the address of ClickHouse: %w", err)
	}
	return "http://" + u.Host, strings.TrimPrefix(u.Path, "/"), nil
}
