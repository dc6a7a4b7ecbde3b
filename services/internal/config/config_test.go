package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/config"
)

type settings struct {
	HTTPAddr string        `env:"HTTP_ADDR" envDefault:"127.0.0.1:8010" help:"where the API listens"`
	Postgres string        `env:"POSTGRES_URL,required" help:"the database"`
	Grace    time.Duration `env:"DRAIN_TIMEOUT" envDefault:"10s" help:"time to finish"`
	Rows     int           `env:"ROWS" envDefault:"5" help:"rows"`
}

func (s settings) Validate() error {
	var errs []error
	if s.Rows < 1 {
		errs = append(errs, errors.New("LINKSTREAM_ROWS must be at least 1"))
	}
	return errors.Join(append(errs, config.CheckAddr("HTTP_ADDR", s.HTTPAddr))...)
}

func TestEveryMistakeIsReportedAtOnceWithoutValues(t *testing.T) {
	_, err := config.Parse[settings]("about", []string{
		"LINKSTREAM_HTTP_ADDR=nowhere",
		"LINKSTREAM_DRAIN_TIMEOUT=s3cret",
		"LINKSTREAM_ROWS=0",
	}, nil, &strings.Builder{})
	if err == nil {
		t.Fatal("wrong settings were accepted")
	}
	for _, want := range []string{
		"LINKSTREAM_HTTP_ADDR must be host:port",
		"LINKSTREAM_POSTGRES_URL is required and not set",
		"LINKSTREAM_DRAIN_TIMEOUT is not a duration such as 10s",
		"LINKSTREAM_ROWS must be at least 1",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a value is shown: %v", err)
	}
}

func TestDefaultsAndValues(t *testing.T) {
	got, err := config.Parse[settings]("about", []string{"LINKSTREAM_POSTGRES_URL=postgres://x", "LINKSTREAM_ROWS=9"}, nil, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	want := settings{HTTPAddr: "127.0.0.1:8010", Postgres: "postgres://x", Grace: 10 * time.Second, Rows: 9}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestHelpListsEverySetting(t *testing.T) {
	var out strings.Builder
	_, err := config.Parse[settings]("links: keeps the links.", nil, []string{"--help"}, &out)
	if !errors.Is(err, config.ErrHelp) {
		t.Fatalf("got %v, want ErrHelp", err)
	}
	for _, want := range []string{"links: keeps the links.", "LINKSTREAM_HTTP_ADDR", "default 127.0.0.1:8010", "LINKSTREAM_POSTGRES_URL", "required", "time to finish"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

func TestArgumentsAreRefused(t *testing.T) {
	if _, err := config.Parse[settings]("about", nil, []string{"--port=1"}, &strings.Builder{}); err == nil || errors.Is(err, config.ErrHelp) {
		t.Errorf("got %v", err)
	}
}

func TestChecksOfSingleValues(t *testing.T) {
	check := func(got error, want string) {
		t.Helper()
		if want == "" && got != nil || want != "" && (got == nil || !strings.HasPrefix(got.Error(), "LINKSTREAM_"+want+" must be ")) {
			t.Errorf("got %v, want a complaint about %q", got, want)
		}
	}
	check(config.CheckAddrs("KAFKA_BROKERS", []string{"a:1", "b:2"}), "")
	check(config.CheckAddrs("KAFKA_BROKERS", nil), "") // `required` says so
	check(config.CheckAddrs("KAFKA_BROKERS", []string{"a:1", "b"}), "KAFKA_BROKERS")
	check(config.CheckURL("LINKS_URL", "http://127.0.0.1:8010"), "")
	check(config.CheckURL("LINKS_URL", "https://links.test"), "")
	check(config.CheckURL("LINKS_URL", ""), "")
	check(config.CheckURL("LINKS_URL", "127.0.0.1:8010"), "LINKS_URL")
	check(config.CheckURL("LINKS_URL", "ftp://links.test"), "LINKS_URL")
	check(config.CheckURL("LINKS_URL", "http://"), "LINKS_URL")
	check(config.CheckPositive("DRAIN_TIMEOUT", time.Second), "")
	check(config.CheckPositive("DRAIN_TIMEOUT", 0), "DRAIN_TIMEOUT")
	check(config.CheckPositive("DRAIN_TIMEOUT", -time.Second), "DRAIN_TIMEOUT")
	check(config.CheckLogLevel("info"), "")
	check(config.CheckLogLevel("loud"), "LOG_LEVEL")
}

func TestNoMistakeIsReportedTwiceAndNoneHides(t *testing.T) {
	_, err := config.Parse[settings]("about", []string{"LINKSTREAM_ROWS=many", "LINKSTREAM_POSTGRES_URL="}, nil, &strings.Builder{})
	want := `these settings are wrong (see --help):
LINKSTREAM_ROWS is not a whole number
LINKSTREAM_POSTGRES_URL is required and empty`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}
