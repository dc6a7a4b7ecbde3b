package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/scenario"
)

func TestHelpNamesEveryScenarioAndSetting(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), nil, []string{"--help"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, s := range scenario.OnStack() {
		if !strings.Contains(out.String(), "\n  "+s.Name+" ") || s.About == "" || s.Long < s.Short || s.Short < time.Second || s.Rate <= 0 {
			t.Errorf("%+v is not whole, or not in the help", s)
		}
	}
	if err := run(t.Context(), nil, nil, &out); err == nil {
		t.Error("nothing was named, and nothing said")
	}
}

func TestShortFormsFitIntoTenMinutes(t *testing.T) {
	// What comes on top of a load: links are made, all is ready again, clicks are
	// counted. Outages have five phases.
	const around = 12 * time.Second
	var sum time.Duration
	for _, s := range scenario.OnStack() {
		sum += s.Short + around
		if strings.HasPrefix(s.Name, "outage-") {
			sum += s.Short + s.Short
		}
	}
	if sum > 10*time.Minute {
		t.Errorf("all take about %v", sum)
	}
}

func TestArgumentsAreScenariosAndLengths(t *testing.T) {
	chosen, short, err := choose([]string{"mutate=1m", "outage-all"})
	if err != nil || !short || len(chosen) != 2 || chosen[0].length != time.Minute || chosen[1].length != 0 || chosen[1].Name != "outage-all" {
		t.Errorf("%+v, %v, %v", chosen, short, err)
	}
	if chosen, short, err = choose([]string{"all"}); err != nil || !short || len(chosen) != len(scenario.OnStack()) {
		t.Errorf("all are %d, %v, %v", len(chosen), short, err)
	}
	if _, short, err = choose([]string{"steady"}); err != nil || short {
		t.Errorf("one alone is short: %v, %v", short, err)
	}
	for _, bad := range []string{"nothing", "steady=", "steady=1ms", "all=1m"} {
		if _, _, err := choose([]string{bad}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestSettingsThatCannotBeAreNamedTogether(t *testing.T) {
	_, err := readStack([]string{"LINKSTREAM_LOAD_RATE=-1", "LINKSTREAM_LOAD_DURATION=1ms", "LINKSTREAM_LOAD_KEYS=/nowhere"})
	for _, name := range []string{"RATE", "DURATION", "KEYS"} {
		if err == nil || !strings.Contains(err.Error(), "LINKSTREAM_LOAD_"+name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

func TestSkippedScenariosBreakNothing(t *testing.T) {
	chosen := []choice{{}, {}}
	skip, wrong := fmt.Errorf("%w: no netem", report.ErrSkipped), errors.New("broken")
	if err := verdictOf(chosen, []error{nil, skip}); err != nil {
		t.Error(err)
	}
	if err := verdictOf(chosen, []error{skip, skip}); !errors.Is(err, report.ErrSkipped) {
		t.Errorf("with nothing but skipped ones: %v", err)
	}
	if err := verdictOf(chosen, []error{skip, wrong}); err == nil || errors.Is(err, report.ErrSkipped) {
		t.Errorf("with a broken one: %v", err)
	}
}

func TestTheCommandSaysWhatMakesADifference(t *testing.T) {
	got := command([]string{"HOME=/x", "LINKSTREAM_LOAD_RATE=9", "LINKSTREAM_LOAD_STACK=/y", "LINKSTREAM_LOAD_KEYS=k"}, "steady=5s")
	if want := "LINKSTREAM_LOAD_KEYS=k LINKSTREAM_LOAD_RATE=9 make loadtest SCENARIO=steady=5s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
