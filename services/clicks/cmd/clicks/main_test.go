package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	err := run(t.Context(), []string{
		"LINKSTREAM_LOG_LEVEL=loud", "LINKSTREAM_CLICK_BATCH_MAX_ROWS=0", "LINKSTREAM_CLICK_BATCH_MAX_WAIT=2h", "LINKSTREAM_ADMIN_ADDR=nowhere",
	}, nil, &bytes.Buffer{})
	if err == nil {
		t.Fatal("started with settings that are wrong")
	}
	for _, name := range []string{"LOG_LEVEL", "CLICK_BATCH_MAX_ROWS", "CLICK_BATCH_MAX_WAIT", "ADMIN_ADDR", "KAFKA_BROKERS", "CLICKHOUSE_URL"} {
		if !strings.Contains(err.Error(), "LINKSTREAM_"+name) {
			t.Errorf("LINKSTREAM_%s is not in the message: %v", name, err)
		}
	}
}

func TestHelpListsEverySetting(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), nil, []string{"--help"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"KAFKA_BROKERS", "TOPIC_PREFIX", "CLICKHOUSE_URL", "CLICK_BATCH_MAX_ROWS", "ADMIN_ADDR", "DRAIN_TIMEOUT"} {
		if !strings.Contains(out.String(), "LINKSTREAM_"+name) {
			t.Errorf("LINKSTREAM_%s is not in the help", name)
		}
	}
}

func TestBadClickHouseURLIsNotQuoted(t *testing.T) {
	err := run(t.Context(), []string{
		"LINKSTREAM_KAFKA_BROKERS=127.0.0.1:1", "LINKSTREAM_CLICKHOUSE_URL=http://user:secret@host:port:port/x",
	}, nil, &bytes.Buffer{})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error quotes a password or is missing: %v", err)
	}
}
