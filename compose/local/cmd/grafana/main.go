// Command grafana writes the dashboards that Grafana provisions.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/linkstream/linkstream/compose/local/internal/grafana"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "grafana:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: grafana FOLDER (of the dashboards: compose/grafana/dashboards)")
	}
	return grafana.Write(args[0])
}
