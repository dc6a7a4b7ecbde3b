package telemetry_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/telemetry"
)

func TestDurationsAreWrittenWithTheirUnit(t *testing.T) {
	var out bytes.Buffer
	log, err := telemetry.NewLogger(&out, "info", "test")
	if err != nil {
		t.Fatal(err)
	}
	check := func(d time.Duration, want string) {
		t.Helper()
		out.Reset()
		log.WithGroup("in").Info("done", "after", d, "count", 3)
		var line struct {
			Service string `json:"service"`
			In      struct {
				After any `json:"after"`
				Count any `json:"count"`
			} `json:"in"`
		}
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.In.After != want || line.In.Count != 3.0 || line.Service != "test" {
			t.Errorf("%d ns: %s, want %q", d, out.Bytes(), want)
		}
	}
	check(0, "0s")
	check(15_193_106_004, "15.2s")
	check(1_249_999_999, "1.2s")
	check(56_984_345, "57ms")
	check(1_049_000, "1ms")
	check(1_251_000, "1.3ms")
	check(999_999, "999.999\u00b5s")
	check(90*time.Second+120*time.Millisecond, "1m30.1s")
	check(-1_500_000_000, "-1.5s")
	check(math.MaxInt64, "2562047h47m16.854775807s")
	check(math.MinInt64, "-2562047h47m16.854775808s")
}

func TestAnUnknownLevelIsRefused(t *testing.T) {
	if _, err := telemetry.NewLogger(&bytes.Buffer{}, "loud", "test"); err == nil {
		t.Error("the level loud is taken")
	}
}
