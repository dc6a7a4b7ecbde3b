// Command events is for people: `events tail` shows what happens as JSON lines,
// `events rebuild` makes a snapshot of all links from the changelog. It reads, joins
// no consumer group and leaves nothing behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const usage = `usage: events tail [flags]      show changes of links, or clicks, as JSON lines
       events rebuild [flags]   print all links as JSON lines or CSV

events tail --help and events rebuild --help list the flags, with examples.

  LINKSTREAM_KAFKA_BROKERS   host:port of brokers, comma separated (or --brokers). Where neither is set, the
                             brokers of the local stack that runs in this folder (.local/dev.env).
  LINKSTREAM_TOPIC_PREFIX    put before every topic's name (or --prefix)

Exit codes: 0 done or stopped with Ctrl-C, 1 something went wrong, 2 the command line or a setting is wrong,
3 everything is printed, and records were passed over that do not decode.
`

// usageError is a mistake in the command line or in a setting.
type usageError struct{ error }

// passedOverError says that the output is whole but for records that do not decode.
type passedOverError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Environ(), os.Args[1:], os.Stdout)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "events:", err)
	switch {
	case errors.As(err, new(usageError)):
		os.Exit(2)
	case errors.As(err, new(passedOverError)):
		os.Exit(3)
	default:
		os.Exit(1)
	}
}

func run(ctx context.Context, environ, args []string, stdout io.Writer) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	switch name {
	case "tail":
		return runTail(ctx, environ, args[1:], stdout)
	case "rebuild":
		return runRebuild(ctx, environ, args[1:], stdout)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usage)
		return nil
	case "":
		fmt.Fprint(stdout, usage)
		return usageError{errors.New("name a command: tail or rebuild")}
	default:
		return usageError{fmt.Errorf("there is no command %q: use tail or rebuild", name)}
	}
}

// source is where the topics are.
type source struct {
	brokers []string
	prefix  string
}

// newFlags are a command's flags, with those that every command has. The returned
// function parses them; it says that help was printed with flag.ErrHelp.
func newFlags(name, about string, environ []string, stdout io.Writer) (*flag.FlagSet, func(args []string) (source, error)) {
	values := localStack(".local")
	for _, entry := range environ {
		if key, value, ok := strings.Cut(entry, "="); ok && value != "" {
			values[key] = value
		}
	}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // what is wrong is printed once, by main
	brokers := flags.String("brokers", values["LINKSTREAM_KAFKA_BROKERS"], "`host:port` of brokers, comma separated")
	prefix := flags.String("prefix", values["LINKSTREAM_TOPIC_PREFIX"], "`text` before every topic's name")
	return flags, func(args []string) (source, error) {
		err := flags.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, about)
			flags.SetOutput(stdout)
			flags.PrintDefaults()
			return source{}, err
		}
		if err == nil && flags.NArg() > 0 {
			err = fmt.Errorf("%q is not a flag of %s", flags.Arg(0), name)
		}
		if err != nil {
			return source{}, usageError{fmt.Errorf("%w (see events %s --help)", err, name)}
		}
		if *brokers == "" {
			return source{}, usageError{errors.New("no broker is known: set LINKSTREAM_KAFKA_BROKERS or --brokers to host:port, or call this in the folder of a running local stack")}
		}
		s := source{strings.Split(*brokers, ","), *prefix}
		for _, broker := range s.brokers {
			if _, _, err := net.SplitHostPort(broker); err != nil {
				return source{}, usageError{fmt.Errorf("LINKSTREAM_KAFKA_BROKERS or --brokers must be host:port, comma separated: %w", err)}
			}
		}
		return s, nil
	}
}

// localStack are the settings that a stack which runs in a folder has left there.
func localStack(dir string) map[string]string {
	values := map[string]string{}
	text, err := os.ReadFile(filepath.Join(dir, "dev.env"))
	if err != nil {
		return values
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = strings.Trim(value, `'"`)
		}
	}
	return values
}

// answerWithin is how long a broker may take to answer at all. Without it a wrong
// address looks like a topic in which nothing happens.
const answerWithin = 5 * time.Second

// connect makes a client and checks that somebody answers.
func (s source) connect(ctx context.Context, options ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(s.brokers...), kgo.ClientID("events"))...)
	if err != nil {
		return nil, fmt.Errorf("making the broker's client: %w", err)
	}
	ping, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := client.Ping(ping); err != nil {
		client.Close()
		return nil, fmt.Errorf("no broker answers at %s: %w", strings.Join(s.brokers, ","), err)
	}
	return client, nil
}
