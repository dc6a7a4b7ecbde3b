// Command canary uses linkstream as a customer would, every few seconds, through its
// public addresses, and exports what a user would feel.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/linkstream/linkstream/services/canary/internal/customer"
	"github.com/linkstream/linkstream/services/canary/internal/round"
	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/httpserver"
	"github.com/linkstream/linkstream/services/internal/runner"
	"github.com/linkstream/linkstream/services/internal/telemetry"
)

type settings struct {
	LogLevel   string        `env:"LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error"`
	AdminAddr  string        `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9060" help:"listener of metrics, health and profiles; keep it private"`
	APIURL     string        `env:"CANARY_API_URL,required" help:"where customers call the API, for instance http://127.0.0.1:8000"`
	APIKey     string        `env:"CANARY_API_KEY,required" help:"an API key with links:read, links:write and analytics:read, of a workspace for this alone"`
	Domain     string        `env:"CANARY_DOMAIN,required" help:"the short domain of its links"`
	Edges      []string      `env:"CANARY_EDGES,required" help:"where visitors ask, comma separated: every edge, or what stands before each region's, as http://host:port"`
	Every      time.Duration `env:"CANARY_EVERY" envDefault:"5s" help:"from the start of a round to that of the next; a slow round delays the next"`
	LiveLimit  time.Duration `env:"CANARY_LIVE_LIMIT" envDefault:"2s" help:"an edit that needs longer to an edge has failed"`
	CountLimit time.Duration `env:"CANARY_COUNT_LIMIT" envDefault:"30s" help:"visits that are not counted by then have failed"`
}

// Validate implements config.Validator.
func (s settings) Validate() error {
	errs := []error{
		config.CheckLogLevel(s.LogLevel),
		config.CheckAddr("ADMIN_ADDR", s.AdminAddr),
		config.CheckURL("CANARY_API_URL", s.APIURL),
		config.CheckPositive("CANARY_EVERY", s.Every),
		config.CheckPositive("CANARY_LIVE_LIMIT", s.LiveLimit),
		config.CheckPositive("CANARY_COUNT_LIMIT", s.CountLimit),
	}
	for _, edge := range s.Edges {
		errs = append(errs, config.CheckURL("CANARY_EDGES", edge))
	}
	return errors.Join(errs...)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Environ(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "canary:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, environ, args []string, stdout io.Writer) error {
	const about = "canary makes, follows, edits, counts and deletes a link every few seconds, and exports what a user would feel."
	s, err := config.Parse[settings](about, environ, args, stdout)
	if errors.Is(err, config.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(stdout, s.LogLevel, "canary")
	if err != nil {
		return err
	}
	registry := telemetry.NewRegistry()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // what it measures is the system
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var visitors []*customer.Visitor
	for _, edge := range s.Edges {
		v, err := customer.NewVisitor(client, edge, s.Domain)
		if err != nil {
			return fmt.Errorf("LINKSTREAM_CANARY_EDGES: %w", err)
		}
		visitors = append(visitors, v)
	}
	canary := round.New(round.Settings{
		Domain: s.Domain, Every: s.Every, LiveLimit: s.LiveLimit, CountLimit: s.CountLimit,
	}, customer.New(client, s.APIURL, s.APIKey), visitors, registry, log)

	listener, err := httpserver.Listen(ctx, s.AdminAddr)
	if err != nil {
		return err
	}
	admin := httpserver.NewAdmin(registry) // it is ready to report whatever it meets
	log.InfoContext(ctx, "serving", "admin", listener.Addr().String(), "edges", len(visitors))
	return runner.Run(ctx,
		runner.Task{Name: "admin", Run: httpserver.New(listener, admin, time.Second, log).Run},
		runner.Task{Name: "rounds", Run: canary.Run},
		runner.Task{Name: "stopping", Run: admin.Stopping},
	)
}
