package main

import (
	"bytes"
	"strings"
	"testing"
)

// Nothing may be migrated halfway because a later variable is missing.
func TestEveryBadSettingIsNamedBeforeAnythingIsMigrated(t *testing.T) {
	check := func(what string, environ []string, want ...string) {
		t.Helper()
		var out bytes.Buffer
		err := run(t.Context(), environ, []string{what}, &out)
		if err == nil || out.Len() > 0 {
			t.Fatalf("%s: %v, printed %q", what, err, out.String())
		}
		for _, name := range []string{"POSTGRES_URL", "CLICKHOUSE_URL", "KAFKA_BROKERS", "TOPIC_REPLICATION", "SCHEMA_REGISTRY_URL"} {
			wanted := false
			for _, w := range want {
				wanted = wanted || w == name
			}
			if got := strings.Contains(err.Error(), "LINKSTREAM_"+name+" must"); got != wanted {
				t.Errorf("%s: LINKSTREAM_%s named: %t, want %t, in: %v", what, name, got, wanted, err)
			}
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the message repeats a password: %v", what, err)
		}
	}
	check("all", nil, "POSTGRES_URL", "CLICKHOUSE_URL", "KAFKA_BROKERS")
	check("postgres", nil, "POSTGRES_URL")
	check("clickhouse", nil, "CLICKHOUSE_URL")
	check("topics", nil, "KAFKA_BROKERS")
	check("all", []string{
		"LINKSTREAM_POSTGRES_URL=postgres://u:secret@host:port/x", "LINKSTREAM_CLICKHOUSE_URL=http://u:secret@host:port/x",
		"LINKSTREAM_KAFKA_BROKERS=nowhere", "LINKSTREAM_TOPIC_REPLICATION=0", "LINKSTREAM_SCHEMA_REGISTRY_URL=u:secret@host",
	}, "POSTGRES_URL", "CLICKHOUSE_URL", "KAFKA_BROKERS", "TOPIC_REPLICATION", "SCHEMA_REGISTRY_URL")
	check("clickhouse", []string{"LINKSTREAM_CLICKHOUSE_URL=http://127.0.0.1:8123/"}, "CLICKHOUSE_URL")
}
