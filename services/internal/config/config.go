// Package config reads a service's settings from the environment, once.
//
// It promises that a start with bad settings fails with one message that names
// every variable that is wrong, and that --help lists them all with their
// defaults. It refuses to print a value: settings hold passwords.
package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/caarlos0/env/v11"
)

// Prefix is the start of the name of every variable.
const Prefix = "LINKSTREAM_"

// ErrHelp says that the help text was asked for and has been printed.
var ErrHelp = errors.New("help was asked for")

// Validator is a set of settings that can check more than its types: ranges,
// combinations. It returns all mistakes, joined, each naming its variable.
type Validator interface {
	Validate() error
}

// Parse reads T's fields, tagged `env:"NAME"` without the prefix, `envDefault:"..."`
// and `help:"one line"`, from environ ("KEY=value" strings). With --help or -h in
// args it prints the list instead and returns ErrHelp; any other argument is an
// error, because settings come from the environment only.
func Parse[T Validator](about string, environ, args []string, stdout io.Writer) (T, error) {
	var settings T
	for _, arg := range args {
		if arg == "--help" || arg == "-h" {
			return settings, errors.Join(writeHelp(stdout, about, &settings), ErrHelp)
		}
	}
	if len(args) > 0 {
		return settings, fmt.Errorf("unexpected argument %q: settings are environment variables, see --help", args[0])
	}
	known := fields(reflect.TypeFor[T]())
	settings, err := env.ParseAsWithOptions[T](env.Options{Environment: env.ToMap(environ), Prefix: Prefix})
	mistakes := append(cleaned(err, known), empty(environ, known)...)
	mistakes = append(mistakes, others(settings.Validate(), mistakes)...)
	if len(mistakes) > 0 {
		return settings, fmt.Errorf("these settings are wrong (see --help):\n%w", errors.Join(mistakes...))
	}
	return settings, nil
}

// empty reports what is required and set to nothing, which is as good as not set.
func empty(environ []string, known map[string]field) []error {
	given := env.ToMap(environ)
	var out []error
	for _, f := range known {
		if value, ok := given[Prefix+f.variable]; f.required && ok && value == "" {
			out = append(out, fmt.Errorf("%s%s is required and empty", Prefix, f.variable))
		}
	}
	slices.SortFunc(out, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return out
}

// others are the mistakes that a validation found in variables that are not
// reported yet: one that did not parse has no value to judge.
func others(err error, reported []error) []error {
	if err == nil {
		return nil
	}
	named := map[string]bool{}
	for _, r := range reported {
		named[strings.Fields(r.Error())[0]] = true
	}
	var out []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if words := strings.Fields(line); len(words) > 0 && !named[strings.TrimSuffix(words[0], ":")] {
			out = append(out, errors.New(line))
		}
	}
	return out
}

// cleaned turns the library's aggregate into one error a line, without values.
func cleaned(err error, known map[string]field) []error {
	if err == nil {
		return nil
	}
	var all env.AggregateError
	if !errors.As(err, &all) {
		return []error{err}
	}
	var out []error
	for _, e := range all.Errors {
		var missing env.VarIsNotSetError
		var parse env.ParseError
		switch {
		case errors.As(e, &missing):
			out = append(out, fmt.Errorf("%s is required and not set", missing.Key))
		case errors.As(e, &parse):
			out = append(out, fmt.Errorf("%s%s is not %s", Prefix, known[parse.Name].variable, wanted(parse.Type)))
		default:
			out = append(out, e)
		}
	}
	return out
}

// wanted is a Go type in an operator's words.
func wanted(t reflect.Type) string {
	switch t.String() {
	case "time.Duration":
		return "a duration such as 10s"
	case "bool":
		return "true or false"
	case "[]netip.Prefix":
		return "a list of networks such as 10.0.0.0/8,192.168.0.0/16"
	case "int", "int16", "int32", "int64", "uint16", "uint64":
		return "a whole number"
	case "float64":
		return "a number"
	default:
		return "a valid " + t.String()
	}
}

func writeHelp(w io.Writer, about string, settings any) error {
	params, err := env.GetFieldParamsWithOptions(settings, env.Options{Prefix: Prefix})
	if err != nil {
		return fmt.Errorf("listing the settings: %w", err)
	}
	help := map[string]string{}
	for _, f := range fields(reflect.TypeOf(settings).Elem()) {
		help[f.variable] = f.help
	}
	fmt.Fprintf(w, "%s\n\nSettings are environment variables:\n\n", about)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range params {
		name := strings.TrimPrefix(p.Key, Prefix)
		value := "default " + p.DefaultValue
		switch {
		case p.Required:
			value = "required"
		case p.DefaultValue == "":
			value = "optional"
		}
		fmt.Fprintf(table, "  %s%s\t%s\t%s\n", Prefix, name, value, help[name])
	}
	return table.Flush()
}

// field is what a struct field's tags say: its variable without the prefix, and
// one line about it.
type field struct {
	variable, help string
	required       bool
}

// fields maps the names of T's fields, those of embedded structs included.
func fields(t reflect.Type) map[string]field {
	out := map[string]field{}
	for f := range t.Fields() {
		if f.Anonymous {
			maps.Copy(out, fields(f.Type))
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("env"), ",")
		out[f.Name] = field{variable: name, help: f.Tag.Get("help"), required: strings.Contains(options, "required")}
	}
	return out
}

// CheckAddr says whether value is an address to listen on, host:port, for use in Validate.
func CheckAddr(name, value string) error {
	if _, _, err := net.SplitHostPort(value); err != nil {
		return fmt.Errorf("%s%s must be host:port, for instance 127.0.0.1:8080", Prefix, name)
	}
	return nil
}

// CheckAddrs is CheckAddr for a list, for instance of Kafka brokers.
func CheckAddrs(name string, values []string) error {
	for _, value := range values {
		if err := CheckAddr(name, value); err != nil {
			return fmt.Errorf("%s%s must be host:port, comma separated", Prefix, name)
		}
	}
	return nil
}

// CheckURL says whether value is the http or https address of a service, for use in
// Validate. A missing value is left to `required`.
func CheckURL(name, value string) error {
	u, err := url.Parse(value)
	if value == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	return fmt.Errorf("%s%s must be an http or https address, for instance http://127.0.0.1:8011", Prefix, name)
}

// CheckPositive says whether value is more than nothing, for use in Validate.
func CheckPositive(name string, value time.Duration) error {
	if value > 0 {
		return nil
	}
	return fmt.Errorf("%s%s must be more than 0, for instance 10s", Prefix, name)
}

// CheckLogLevel says whether value is a level of package telemetry's logger, for use
// in Validate.
func CheckLogLevel(value string) error {
	return CheckOneOf("LOG_LEVEL", value, "debug", "info", "warn", "error")
}

// CheckOneOf says whether value is in a closed list, for use in Validate.
func CheckOneOf(name, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s%s must be one of %s", Prefix, name, strings.Join(allowed, ", "))
}
