package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

const (
	owner    = "linkstream" // the superuser of the cluster
	database = "linkstream"
	// elsewhere takes the data of stacks whose own folder the unprivileged account cannot reach, as below /root.
	elsewhere = "/var/lib/linkstream-local"
)

// Cluster is a data directory and how to run it.
type Cluster struct {
	Bin     string
	Dir     string   // real directory of the data
	Port    int      // on 127.0.0.1
	Account *Account // nil: the caller's own
}

// Open finds binaries, account and data directory. dir is where the data should be; if the account cannot reach it,
// dir becomes a link to a directory that it can reach.
func Open(dir string, port int) (*Cluster, error) {
	account, err := UnprivilegedAccount()
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, Port: port, Account: account}
	if account != nil && !account.CanReach(dir) {
		if c.Dir, err = placeElsewhere(dir); err != nil {
			return nil, fmt.Errorf("placing the data where user %s can reach them: %w", account.Name, err)
		}
	}
	c.Bin, err = FindBin(c.Dir)
	return c, err
}

func placeElsewhere(link string) (string, error) {
	sum := sha256.Sum256([]byte(link))
	dir := filepath.Join(elsewhere, hex.EncodeToString(sum[:6]))
	target, err := os.Readlink(link)
	switch {
	case err == nil && target == dir:
	case errors.Is(err, fs.ErrNotExist):
		// Without the link these are the data of a folder that was removed since.
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil { //nolint:gosec // others pass through
			return "", err
		}
		if err := os.Symlink(dir, link); err != nil {
			return "", err
		}
	default:
		return "", fmt.Errorf("%s exists and is not a link to %s", link, dir)
	}
	return dir, os.MkdirAll(elsewhere, 0o755) //nolint:gosec // others pass through
}

// Remove deletes the data of a stopped cluster, wherever they are.
func Remove(dir string) error {
	if target, err := os.Readlink(dir); err == nil && strings.HasPrefix(target, elsewhere+"/") {
		if err := os.RemoveAll(target); err != nil {
			return fmt.Errorf("removing the PostgreSQL data: %w", err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the PostgreSQL data: %w", err)
	}
	return nil
}

// Command runs a program to its end as the cluster's account.
type Command func(ctx context.Context, path string, args ...string) error

// Init makes the data directory if it is not there. An interrupted initdb leaves nothing that a later start would use.
func (c *Cluster) Init(ctx context.Context, run Command) error {
	if _, err := os.Stat(filepath.Join(c.Dir, "PG_VERSION")); err == nil {
		return nil
	}
	temporary := c.Dir + ".new"
	if err := os.RemoveAll(temporary); err != nil {
		return fmt.Errorf("removing an unfinished data directory: %w", err)
	}
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return fmt.Errorf("creating the data directory: %w", err)
	}
	if c.Account != nil {
		if err := os.Chown(temporary, int(c.Account.Credential.Uid), int(c.Account.Credential.Gid)); err != nil {
			return fmt.Errorf("giving the data directory to %s: %w", c.Account.Name, err)
		}
	}
	err := run(ctx, filepath.Join(c.Bin, "initdb"),
		"--pgdata", temporary, "--username", owner, "--auth", "trust", "--encoding", "UTF8", "--locale", "C")
	if err != nil {
		return fmt.Errorf("initialising the data directory: %w", err)
	}
	if err := os.Rename(temporary, c.Dir); err != nil {
		return fmt.Errorf("moving the data directory into place: %w", err)
	}
	return nil
}

// Server is the path and arguments of the server process.
func (c *Cluster) Server() (path string, args []string) {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(c.Port),
		"unix_socket_directories=", // one file less that a kill could leave behind
		"logging_collector=off",
		"max_connections=200", // a dozen services and their tests, with small pools each
		"timezone=UTC",
		"log_timezone=UTC",
	}
	args = []string{"-D", c.Dir}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return filepath.Join(c.Bin, "postgres"), args
}

// Prepare removes a postmaster.pid whose process is not this cluster's server. PostgreSQL sees through most stale files
// itself, but not if the number belongs to another process by now, as it easily does after a restart of a container.
func (c *Cluster) Prepare() error {
	file := filepath.Join(c.Dir, "postmaster.pid")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading postmaster.pid: %w", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err == nil && c.isServer(pid) {
		return nil // really running: the new server will refuse to start, and say so
	}
	if err := os.Remove(file); err != nil {
		return fmt.Errorf("removing a stale postmaster.pid: %w", err)
	}
	return nil
}

func (c *Cluster) isServer(pid int) bool {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return true // no /proc on this system: leave it to the server
	}
	return slices.Contains(strings.Split(string(command), "\x00"), c.Dir)
}

// CreateDatabase makes the project's database if it is not there, over a connection to adminURL.
func CreateDatabase(ctx context.Context, adminURL string) error {
	conn, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return fmt.Errorf("connecting to PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", database).Scan(&there); err != nil {
		return fmt.Errorf("looking for the database %s: %w", database, err)
	}
	if there {
		return nil
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{database}.Sanitize()); err != nil {
		return fmt.Errorf("creating the database %s: %w", database, err)
	}
	return nil
}
