// Command stack runs the local stack: stores and services, each a process of its own, without Docker.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/linkstream/linkstream/compose/local/internal/console"
	"github.com/linkstream/linkstream/compose/local/internal/plan"
	"github.com/linkstream/linkstream/compose/local/internal/stack"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	force := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		stop()
		<-signals
		close(force)
	}()
	// A reader of our output that goes away first (make run | tee, then Ctrl-C) must not keep us from stopping in
	// order. Caught and not ignored: children would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	if err := run(ctx, force, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "stack:", err)
		os.Exit(1)
	}
}

const about = `Runs linkstream on this machine without Docker: PostgreSQL, one Redis per region, a Kafka-compatible broker,
ClickHouse and every service, each as a process of its own, with all data in one folder.

It listens on 127.0.0.1 only and knows no passwords for the stores: do not use it on a machine you share.`

const aboutUp = `Starts the stack and stays in front until Ctrl-C, which stops everything and keeps the data.

A process that dies is started again within a second, unless the file run/NAME.hold exists in the stack's folder.
run/NAME.pid holds a process's id, log/NAME.log its output, dev.env all addresses and the API key.

Environment:
  REGIONS                 names of the regions, parted by spaces (default "fra ash")
  EDGES                   edges in each region (default 1)
  CANARY                  1 starts a canary, which uses it all every few seconds
  LINKSTREAM_PORT_BASE    added to every port (default 0)
  LINKSTREAM_LOCAL_BROKER embedded or kafka, as --broker (default embedded)
  LINKSTREAM_CHDB_LIB     path of libchdb.so (default: where install.sh puts it)
  LINKSTREAM_GEO_COUNTRY_FILE  countries of addresses (default: where install.sh puts them)

Every other LINKSTREAM_* variable reaches the services, but for the addresses and names that the stack sets itself:
LINKSTREAM_LOG_LEVEL=debug make run.`

func run(ctx context.Context, force <-chan struct{}, args []string, stdout io.Writer) error {
	var dir, bin, broker, only string
	out := console.New(stdout)
	root := &cobra.Command{
		Use: "stack", Short: "Run linkstream on this machine, without Docker", Long: about,
		SilenceUsage: true, SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&dir, "dir", ".local", "the stack's folder")

	up := &cobra.Command{
		Use: "up", Short: "Start the stack and stay until Ctrl-C", Long: aboutUp, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if only != "" && only != "stores" {
				return fmt.Errorf("--only: %q is not known; \"stores\" is", only)
			}
			kind, err := plan.ParseBrokerKind(broker)
			if err != nil {
				return fmt.Errorf("--broker (or LINKSTREAM_LOCAL_BROKER): %w", err)
			}
			if bin == "" {
				bin = filepath.Join(dir, "bin")
			}
			return stack.Up(ctx, stack.Options{
				Dir: dir, Bin: bin, Broker: kind, StoresOnly: only == "stores",
				Environ: os.Environ(), Getenv: os.Getenv, Console: out, Force: force,
			})
		},
	}
	up.Flags().StringVar(&bin, "bin", "", "folder of the built binaries (default: bin in the stack's folder)")
	up.Flags().StringVar(&broker, "broker", cmp.Or(os.Getenv("LINKSTREAM_LOCAL_BROKER"), plan.EmbeddedBroker.String()),
		"\"embedded\", or \"kafka\" for Apache Kafka, which compose/local/kafka/fetch.sh fetches")
	up.Flags().StringVar(&only, "only", "", "\"stores\" starts no services and migrates nothing, to run single services by hand")

	root.AddCommand(up,
		&cobra.Command{
			Use: "down", Short: "Stop a running stack, and what a killed one left behind", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return stack.Down(ctx, dir, out) },
		},
		&cobra.Command{
			Use: "clean", Short: "Stop the stack and remove all its data, logs and programs", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return stack.Clean(ctx, dir, out) },
		},
		&cobra.Command{
			Use: "status", Short: "List the running processes", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return stack.Status(ctx, dir, out) },
		},
	)
	root.SetArgs(args)
	root.SetOut(stdout)
	return root.ExecuteContext(ctx)
}
