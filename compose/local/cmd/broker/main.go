// Command broker is the local stack's Kafka: kfake with its data on disk, in a process of its own. SIGTERM writes its
// state down and ends it; SIGKILL loses nothing that a client was told is stored.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/linkstream/linkstream/compose/local/internal/broker"
	"github.com/linkstream/linkstream/compose/local/internal/readiness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "broker:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var addr, readyFile string
	var settings broker.Settings
	cmd := &cobra.Command{
		Use:           "broker",
		Short:         "Kafka-compatible broker for the local stack, with its data on disk",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			log := slog.New(slog.NewJSONHandler(stdout, nil))
			listener, err := readiness.ListenLoopback(ctx, addr)
			if err != nil {
				return err
			}
			var readyErr error
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			err = broker.Run(ctx, listener, settings, func() {
				log.Info("serving", "addr", listener.Addr().String(), "data_dir", settings.DataDir)
				if readyErr = readiness.WriteFile(readyFile, listener.Addr().String()); readyErr != nil {
					cancel()
				}
			}, log)
			return errors.Join(err, readyErr)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:19092", "loopback address to listen on; port 0 picks one")
	cmd.Flags().StringVar(&settings.DataDir, "data-dir", "", "directory that holds the data (required)")
	cmd.Flags().DurationVar(&settings.CompactEvery, "compact-every", 5*time.Minute, "time between two runs of compaction and retention")
	cmd.Flags().StringVar(&readyFile, "ready-file", "", "file to write the address to once requests are answered")
	if err := cmd.MarkFlagRequired("data-dir"); err != nil {
		return err
	}
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	return cmd.ExecuteContext(ctx)
}
