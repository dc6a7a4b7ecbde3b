package main

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryBadSettingIsNamed(t *testing.T) {
	err := run(t.Context(), []string{
		"LINKSTREAM_LOG_LEVEL=loud", "LINKSTREAM_ADMIN_ADDR=nowhere", "LINKSTREAM_CANARY_API_URL=nowhere",
		"LINKSTREAM_CANARY_EDGES=http://127.0.0.1:1,nowhere", "LINKSTREAM_CANARY_EVERY=0s", "LINKSTREAM_CANARY_LIVE_LIMIT=soon",
		"LINKSTREAM_CANARY_COUNT_LIMIT=-1s", "LINKSTREAM_CANARY_API_KEY=",
	}, nil, &bytes.Buffer{})
	if err == nil {
		t.Fatal("it starts")
	}
	for _, name := range []string{"LOG_LEVEL", "ADMIN_ADDR", "CANARY_API_URL", "CANARY_EDGES", "CANARY_EVERY", "CANARY_LIVE_LIMIT", "CANARY_COUNT_LIMIT", "CANARY_API_KEY", "CANARY_DOMAIN"} {
		if !strings.Contains(err.Error(), "LINKSTREAM_"+name) {
			t.Errorf("%s is not named in:\n%v", name, err)
		}
	}
}

func TestHelpListsTheSettings(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), nil, []string{"--help"}, &out); err != nil || !strings.Contains(out.String(), "LINKSTREAM_CANARY_EDGES") {
		t.Errorf("%v, %s", err, out.String())
	}
}
