// Command webhooks tells endpoints of workspaces what happens to their links, serves the
// API of those endpoints, and shows events to viewers as they happen. `webhooks openapi`
// prints the API's OpenAPI document.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/linkstream/linkstream/services/internal/config"
)

const about = `webhooks tells endpoints what happens to links, and serves /v1/webhooks and /v1/events.

  webhooks          serve
  webhooks openapi  print the API's OpenAPI document`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Environ(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "webhooks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, environ, args []string, stdout io.Writer) error {
	if len(args) == 1 && args[0] == "openapi" {
		return printOpenAPI(stdout) //nolint:contextcheck // it registers handlers, which take their requests' contexts
	}
	s, err := config.Parse[settings](about, environ, args, stdout)
	if errors.Is(err, config.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	return serve(ctx, &s, stdout)
}
