package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/linkstream/linkstream/services/internal/config"
)

const aboutImport = `links import FILE [flags]

Sends a file of links to the API and waits until its links are made: CSV, JSON lines, or
what Bitly, YOURLS, Shlink, Kutt or Dub export. FILE - is the standard input. The import goes on in
the service when this command is interrupted.

  links import bitly.csv --dry-run --report report.csv
  links import links.csv --domain go.example.com --on-conflict rename

`

const aboutExport = `links export [flags]

Writes all links of the workspace, or those that the filters select, as CSV or JSON lines.
Both can be imported again.

  links export --out links.csv
  links export --format jsonl --tag spring > spring.jsonl

`

// pollProgress is how often the command asks how far an import is.
const pollProgress = 500 * time.Millisecond

// remote is the API, from outside.
type remote struct {
	url, key string
	stdout   io.Writer
}

// remoteFlags are a command's flags, with those of the API. The returned function reads
// the arguments, of which one may stand anywhere between the flags; help is printed.
func remoteFlags(name, about string, environ []string, stdout io.Writer) (*flag.FlagSet, *remote, func(args []string) (string, error)) {
	values := map[string]string{}
	for _, entry := range environ {
		key, value, _ := strings.Cut(entry, "=")
		values[key] = value
	}
	r := &remote{stdout: stdout}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // what is wrong is printed once, by main
	flags.StringVar(&r.url, "api-url", values["LINKSTREAM_API_URL"], "`address` of the API, such as https://links.example.com (environment: LINKSTREAM_API_URL)")
	flags.StringVar(&r.key, "api-key", "", "API `key`; better in the environment: LINKSTREAM_API_KEY")
	return flags, r, func(args []string) (argument string, err error) {
		for err = flags.Parse(args); err == nil && flags.NArg() > 0; err = flags.Parse(flags.Args()[1:]) {
			if argument != "" {
				return "", fmt.Errorf("unexpected argument %q", flags.Arg(0))
			}
			argument = flags.Arg(0)
		}
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(stdout)
			_, _ = io.WriteString(stdout, about)
			flags.PrintDefaults()
			return "", config.ErrHelp
		}
		if err != nil {
			return "", fmt.Errorf("reading the arguments: %w", err)
		}
		if r.key == "" {
			r.key = values["LINKSTREAM_API_KEY"]
		}
		if r.url == "" || r.key == "" {
			return "", errors.New("the API's address and a key are needed: LINKSTREAM_API_URL and LINKSTREAM_API_KEY, or --api-url and --api-key")
		}
		r.url = strings.TrimRight(r.url, "/")
		return argument, nil
	}
}

// do sends a request and returns an answer with one of the wanted statuses.
func (r *remote) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, r.url+path, body)
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+r.key)
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the API: %w", err)
	}
	if answer.StatusCode < http.StatusMultipleChoices {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }()
	var problem struct {
		Detail string
		Errors []struct{ Field, Detail string }
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	_ = json.Unmarshal(text, &problem) // what is no problem has no detail
	details := []string{problem.Detail}
	for _, e := range problem.Errors {
		details = append(details, e.Field+": "+e.Detail)
	}
	return nil, fmt.Errorf("the API answers %s: %s", answer.Status, strings.Join(details, "\n  "))
}

// progress is what the API says of an import.
type progress struct {
	ID, State, Format, Charset                     string
	Total, Read, Created, Renamed, Skipped, Failed int64
	FinishedAt                                     *time.Time `json:"finished_at"`
	IgnoredColumns                                 []string   `json:"ignored_columns"`
	DryRun                                         bool       `json:"dry_run"`
}

func (p progress) String() string {
	what, form := "import", "%s %s (%s, %s): %d of %d rows: %d created (%d renamed), %d skipped, %d failed"
	if p.DryRun {
		what, form = "dry run", "%s %s (%s, %s): %d of %d rows: %d would be created (%d renamed), %d skipped, %d would fail"
	}
	return fmt.Sprintf(form, what, p.ID, p.Format, p.Charset, p.Read, p.Total, p.Created, p.Renamed, p.Skipped, p.Failed)
}

func (r *remote) progress(ctx context.Context, method, path string, body io.Reader) (p progress, err error) {
	answer, err := r.do(ctx, method, path, body)
	if err != nil {
		return p, err
	}
	defer func() { _ = answer.Body.Close() }()
	if err := json.NewDecoder(answer.Body).Decode(&p); err != nil {
		return p, fmt.Errorf("reading the answer: %w", err)
	}
	return p, nil
}

func importFile(ctx context.Context, environ, args []string, stdout io.Writer) error {
	flags, r, parse := remoteFlags("import", aboutImport, environ, stdout)
	query := url.Values{}
	format := flags.String("format", "auto", "whose `file` it is: auto, csv, jsonl, bitly, yourls, shlink, kutt or dub")
	domain := flags.String("domain", "", "`host` on which all links are made")
	conflict := flags.String("on-conflict", "skip", "what becomes of a row whose slug is taken: skip, fail or rename")
	dry := flags.Bool("dry-run", false, "make nothing, report what would be made")
	reportTo := flags.String("report", "", "`file` for what became of each row, as CSV")
	name, err := parse(args)
	if err != nil {
		return err
	}
	query.Set("format", *format)
	query.Set("on_conflict", *conflict)
	query.Set("dry_run", strconv.FormatBool(*dry))
	if *domain != "" {
		query.Set("domain", *domain)
	}
	file := io.NopCloser(io.Reader(os.Stdin))
	switch name {
	case "":
		return errors.New("a file is needed: links import FILE")
	case "-":
	default:
		if file, err = os.Open(name); err != nil {
			return fmt.Errorf("opening the file: %w", err)
		}
	}
	defer func() { _ = file.Close() }()
	p, err := r.progress(ctx, http.MethodPost, "/v1/imports?"+query.Encode(), file)
	if err != nil {
		return err
	}
	if p, err = r.await(ctx, p); err != nil {
		return err
	}
	if *reportTo != "" {
		if err := r.save(ctx, "/v1/imports/"+p.ID+"/report", *reportTo); err != nil {
			return err
		}
	}
	if p.Failed > 0 {
		did := "failed"
		if p.DryRun {
			did = "would fail"
		}
		return fmt.Errorf("%d of %d rows %s; the report says why: GET /v1/imports/%s/report, or --report FILE", p.Failed, p.Total, did, p.ID)
	}
	return nil
}

// await shows how far an import is until it ends: in one line of a terminal, or one in
// the end.
func (r *remote) await(ctx context.Context, p progress) (progress, error) {
	file, terminal := r.stdout.(*os.File)
	if terminal {
		info, err := file.Stat()
		terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	if len(p.IgnoredColumns) > 0 {
		fmt.Fprintf(r.stdout, "ignored columns: %s\n", strings.Join(p.IgnoredColumns, ", "))
	}
	tick := time.NewTicker(pollProgress)
	defer tick.Stop()
	for {
		line := p.String()
		if terminal {
			fmt.Fprintf(r.stdout, "\r\x1b[K%s", line)
		}
		if p.FinishedAt != nil {
			if !terminal {
				fmt.Fprint(r.stdout, line)
			}
			fmt.Fprintf(r.stdout, ", %s\n", p.State)
			return p, nil
		}
		select {
		case <-ctx.Done():
			return p, fmt.Errorf("interrupted: import %s goes on; DELETE /v1/imports/%s cancels it", p.ID, p.ID)
		case <-tick.C:
		}
		// Answers may fail while the service restarts; the import outlives that.
		if now, err := r.progress(ctx, http.MethodGet, "/v1/imports/"+p.ID, http.NoBody); err == nil {
			p = now
		}
	}
}

// save writes an answer to a file, which gets its name when it is whole.
func (r *remote) save(ctx context.Context, path, name string) (err error) {
	answer, err := r.do(ctx, http.MethodGet, path, http.NoBody)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if name == "" {
		_, err := io.Copy(r.stdout, answer.Body)
		return err
	}
	part, err := os.Create(name + ".part")
	if err != nil {
		return fmt.Errorf("making the file: %w", err)
	}
	_, err = io.Copy(part, answer.Body)
	if err = errors.Join(err, part.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", name, errors.Join(err, os.Remove(part.Name())))
	}
	return os.Rename(part.Name(), name)
}

func exportLinks(ctx context.Context, environ, args []string, stdout io.Writer) error {
	flags, r, parse := remoteFlags("export", aboutExport, environ, stdout)
	format := flags.String("format", "csv", "csv or jsonl")
	out := flags.String("out", "", "`file` to write; the standard output when left out")
	query := url.Values{}
	for name, about := range map[string]string{
		"domain": "links on this `host`", "tag": "links that have this `tag`", "q": "links with this `text` in title, slug or destination",
		"archived": "`true` or false: archived links only, or all others only", "created-after": "links created at this `moment` (RFC 3339) or later", "created-before": "links created before this `moment`",
	} {
		flags.Func(name, about, func(value string) error {
			query.Set(strings.ReplaceAll(name, "-", "_"), value)
			return nil
		})
	}
	argument, err := parse(args)
	switch {
	case err != nil:
		return err
	case argument != "":
		return fmt.Errorf("unexpected argument %q: a file is named with --out", argument)
	}
	query.Set("format", *format)
	return r.save(ctx, "/v1/links/export?"+query.Encode(), *out)
}
