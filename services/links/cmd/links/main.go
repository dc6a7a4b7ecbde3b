// Command links owns the links: the API, the outbox relay that publishes every
// change, the origin look-up for edges, and the accounts that all services ask for.
//
//	links             serves (settings: links --help)
//	links bootstrap   makes the first workspace, user, domain and API key
//	links import      makes links from a file, over the API
//	links export      writes links to a file, over the API
//	links openapi     prints the API's OpenAPI document
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Environ(), os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "links:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, environ, args []string, stdout io.Writer) error {
	var err error
	switch {
	case len(args) > 0 && args[0] == "bootstrap":
		err = bootstrap(ctx, environ, args[1:], stdout)
	case len(args) > 0 && args[0] == "import":
		err = importFile(ctx, environ, args[1:], stdout)
	case len(args) > 0 && args[0] == "export":
		err = exportLinks(ctx, environ, args[1:], stdout)
	case len(args) > 0 && args[0] == "openapi":
		err = printOpenAPI(args[1:], stdout) //nolint:contextcheck // it registers handlers, which take their requests' contexts
	default:
		err = serve(ctx, environ, args, stdout)
	}
	if errors.Is(err, config.ErrHelp) {
		return nil
	}
	return err
}
