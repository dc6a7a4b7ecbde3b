// Command dashboard serves the web app and, behind the same address, the whole
// public API: it forwards each call to the service that answers it.
//
// It promises that the browser needs no other origin. It keeps no state: sessions
// are the links service's.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/linkstream/linkstream/services/dashboard/internal/apidoc"
	"github.com/linkstream/linkstream/services/internal/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Environ(), os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, config.ErrHelp) {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

// run is the program: `openapi-merge FILE...` prints the whole API's description
// made of its parts; without arguments it serves.
func run(ctx context.Context, environ, args []string, stdout io.Writer) error {
	if len(args) > 0 && args[0] == "openapi-merge" {
		return mergeFiles(args[1:], stdout)
	}
	return serve(ctx, environ, args, stdout)
}

func mergeFiles(names []string, stdout io.Writer) error {
	if len(names) == 0 {
		return errors.New("openapi-merge needs the files to merge")
	}
	parts := make([][]byte, 0, len(names))
	for _, name := range names {
		part, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading a part of the API description: %w", err)
		}
		parts = append(parts, part)
	}
	doc, err := apidoc.Merge(parts...)
	if err != nil {
		return fmt.Errorf("merging the API descriptions: %w", err)
	}
	return apidoc.WriteIndented(stdout, doc)
}
