package kafka

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Version is the Apache Kafka that this module is written and tested against; kafka/pom.xml fetches the same.
const Version = "4.4.0"

// fetcher is what to run when something is missing. It checks Java too.
const fetcher = "run compose/local/kafka/fetch.sh (make test-kafka does)"

// Runtime is what Kafka runs with.
type Runtime struct {
	Java string // path of the program
	Jars string // directory of Kafka's jars and what they need
}

// Find finds Java and the jars. The error names what is missing and how to get it.
func Find(getenv func(string) string) (Runtime, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return Runtime{}, fmt.Errorf("java is not installed, which Apache Kafka needs: install Java 17 or newer, then %s", fetcher)
	}
	r := Runtime{Java: java, Jars: jars(getenv)}
	broker := filepath.Join(r.Jars, "kafka_2.13-"+Version+".jar")
	if info, err := os.Stat(broker); err != nil || !info.Mode().IsRegular() {
		return Runtime{}, fmt.Errorf("Apache Kafka is missing (%s): %s", broker, fetcher) //nolint:staticcheck // a name
	}
	return r, nil
}

// jars is the per-machine cache that kafka/fetch.sh fills, which survives make clean and is shared by all checkouts.
func jars(getenv func(string) string) string {
	cache := getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(getenv("HOME"), ".cache")
	}
	return filepath.Join(cache, "linkstream", "kafka", Version)
}
