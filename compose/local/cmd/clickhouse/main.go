// Command clickhouse is the local stack's ClickHouse: the engine itself (libchdb) behind a listener that speaks
// ClickHouse's HTTP protocol. It serves the loopback address only and knows no users. SIGTERM lets running
// statements finish, stops those that take too long, and closes the data directory cleanly.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/linkstream/linkstream/compose/local/internal/chdb"
	"github.com/linkstream/linkstream/compose/local/internal/chhttp"
	"github.com/linkstream/linkstream/compose/local/internal/readiness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Getenv, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "clickhouse:", err)
		os.Exit(1)
	}
}

type settings struct {
	addr, dataDir, lib, readyFile string
	parallel                      int
	drain                         time.Duration
}

func run(ctx context.Context, getenv func(string) string, args []string, stdout io.Writer) error {
	var s settings
	cmd := &cobra.Command{
		Use:           "clickhouse",
		Short:         "ClickHouse for the local stack: libchdb behind a ClickHouse HTTP listener",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			return serve(ctx, s, slog.New(slog.NewJSONHandler(stdout, nil)))
		},
	}
	cmd.Flags().StringVar(&s.addr, "addr", "127.0.0.1:18123", "loopback address to listen on; port 0 picks one")
	cmd.Flags().StringVar(&s.dataDir, "data-dir", "", "directory that holds the data (required)")
	cmd.Flags().StringVar(&s.lib, "lib", chdb.Path(getenv), "path of libchdb.so (default also from LINKSTREAM_CHDB_LIB)")
	cmd.Flags().StringVar(&s.readyFile, "ready-file", "", "file to write the address to once requests are answered")
	cmd.Flags().IntVar(&s.parallel, "parallel", max(8, 2*runtime.NumCPU()), "statements that run at once; more wait")
	cmd.Flags().DurationVar(&s.drain, "drain", 10*time.Second, "how long running statements may take after SIGTERM")
	if err := cmd.MarkFlagRequired("data-dir"); err != nil {
		return err
	}
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	return cmd.ExecuteContext(ctx)
}

func serve(ctx context.Context, s settings, log *slog.Logger) error {
	if s.parallel < 1 {
		return errors.New("--parallel must be at least 1")
	}
	listener, err := readiness.ListenLoopback(ctx, s.addr)
	if err != nil {
		return err
	}
	lib, err := chdb.Load(s.lib)
	if err != nil {
		_ = listener.Close()
		return fmt.Errorf("%w (compose/local/install.sh fetches it; --lib or LINKSTREAM_CHDB_LIB names another copy)", err)
	}
	engine, err := lib.Open(s.dataDir)
	if err != nil {
		_ = listener.Close()
		return fmt.Errorf("opening %s: %w", s.dataDir, err)
	}
	defer engine.Close()

	// The requests' context outlives ctx: SIGTERM lets them finish, and only the end of the drain cancels them.
	requests, cancelRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelRequests()
	server := &http.Server{
		Handler:           chhttp.New(engine, s.parallel, log),
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	if err := readiness.WriteFile(s.readyFile, listener.Addr().String()); err != nil {
		return errors.Join(err, server.Close(), unlessClosed(<-stopped))
	}
	log.Info("serving", "addr", listener.Addr().String(), "data_dir", s.dataDir, "engine", chdb.Version)

	select {
	case err := <-stopped:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(requests, s.drain)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		log.Warn("running statements stopped", "err", err)
		cancelRequests()
		// They end within moments of being told to; the engine cannot close under them.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drain)
		defer cancel()
		if err := server.Shutdown(last); err != nil {
			return fmt.Errorf("stopping: statements are still running: %w", err)
		}
	}
	return unlessClosed(<-stopped)
}

// unlessClosed drops the error by which a server says that it was told to stop.
func unlessClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
