package main

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/migrations"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

// BenchmarkIngest is the way from the topic to rows that can be asked for: the broker
// and ClickHouse of the local stack as processes of their own, the ingester in this
// one. The clicks are produced before the clock starts, in transactions of 2,000 over
// twelve partitions, and it stops when the last one is in ClickHouse and committed.
//
//	go test -run '^$' -bench Ingest ./services/clicks/cmd/clicks
//
// It says clicks a second, microseconds of CPU a click by process, and bytes on disk
// a click by table, after a merge. LINKSTREAM_BENCH_CLICKS is how many (1000000);
// LINKSTREAM_GEO_COUNTRY_FILE and LINKSTREAM_GEO_CITY_FILES are used as they are set, or
// the country file that `make install` has fetched; LINKSTREAM_BENCH_PROFILE is a file
// for the ingester's CPU profile.
func BenchmarkIngest(b *testing.B) {
	total := 1_000_000
	if text := os.Getenv("LINKSTREAM_BENCH_CLICKS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		total = n
	}
	for b.Loop() {
		b.StopTimer()
		s := newBenchStack(b)
		s.produce(total)
		b.StartTimer()
		s.ingest(total)
		b.StopTimer()
		s.report(total)
		s.stop()
		b.StartTimer()
	}
}

type benchStack struct {
	b                  *testing.B
	broker, clickhouse *exec.Cmd
	processes          []*testproc.Process
	brokerAddr, store  string
	db                 *sql.DB

	took              time.Duration
	self, kafka, rows time.Duration // CPU
}

func newBenchStack(b *testing.B) *benchStack {
	b.Helper()
	s := &benchStack{b: b, brokerAddr: testproc.FreeAddr(b)}
	addr := testproc.FreeAddr(b)
	s.broker = s.start("broker", s.brokerAddr)
	s.clickhouse = s.start("clickhouse", addr)
	s.store = "http://" + addr + "/default"
	options, err := clickhouse.ParseDSN(s.store)
	if err != nil {
		b.Fatal(err)
	}
	s.db = clickhouse.OpenDB(options)
	if _, err := migrations.ClickHouse(b.Context(), s.db); err != nil {
		b.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokerAddr))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	if _, err := migrations.CreateTopics(b.Context(), client, "", 1); err != nil {
		b.Fatal(err)
	}
	return s
}

// start builds and starts one of the local stack's programs.
func (s *benchStack) start(name, addr string) *exec.Cmd {
	s.b.Helper()
	dir := s.b.TempDir()
	program := filepath.Join(dir, name)
	build := exec.CommandContext(s.b.Context(), "go", "build", "-o", program, "./cmd/"+name)
	build.Dir = filepath.Join("..", "..", "..", "..", "compose", "local")
	if out, err := build.CombinedOutput(); err != nil {
		s.b.Fatalf("building %s: %v: %s", name, err, out)
	}
	cmd := exec.CommandContext(context.WithoutCancel(s.b.Context()), program, "--addr", addr, "--data-dir", filepath.Join(dir, "data"))
	process, err := testproc.Start(cmd, func(ctx context.Context) error {
		if name == "broker" {
			client, err := kgo.NewClient(kgo.SeedBrokers(addr))
			if err != nil {
				return err
			}
			defer client.Close()
			return client.Ping(ctx)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/ping", http.NoBody)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	})
	if err != nil {
		s.b.Skipf("%s: %v", name, err)
	}
	s.processes = append(s.processes, process)
	return cmd
}

func (s *benchStack) stop() {
	_ = s.db.Close()
	for _, p := range s.processes {
		p.Stop()
	}
}

func (s *benchStack) produce(total int) {
	s.b.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokerAddr), kgo.TransactionalID("edge"), kgo.ProducerBatchCompression(kgo.Lz4Compression()))
	if err != nil {
		s.b.Fatal(err)
	}
	defer client.Close()
	visits := newVisits()
	const transaction = 2000
	for done := 0; done < total; done += transaction {
		if err := client.BeginTransaction(); err != nil {
			s.b.Fatal(err)
		}
		for range min(transaction, total-done) {
			client.Produce(s.b.Context(), &kgo.Record{Topic: events.Clicks.Name(""), Value: visits.next()}, func(_ *kgo.Record, err error) {
				if err != nil {
					s.b.Error(err)
				}
			})
		}
		if err := client.Flush(s.b.Context()); err != nil {
			s.b.Fatal(err)
		}
		if err := client.EndTransaction(s.b.Context(), kgo.TryCommit); err != nil {
			s.b.Fatal(err)
		}
	}
}

// visits are clicks as a busy hour has them: five workspaces, ten thousand links of
// which few get most, three hundred thousand visitors with three hundred agents.
type visits struct {
	random *rand.Rand
	n      int
	start  time.Time
}

func newVisits() *visits {
	return &visits{random: rand.New(rand.NewPCG(1, 2)), start: time.Now().Add(-20 * time.Second)}
}

func (v *visits) next() []byte {
	v.n++
	link := int(math.Pow(10_000, v.random.Float64()))
	visitor := v.random.IntN(300_000)
	c := events.Click{
		// A hundred thousand a second.
		TimeUnixMicro: v.start.UnixMicro() + int64(v.n)*10,
		LinkVersion:   uint64(1 + link%3), Host: fmt.Sprintf("go%d.example.com", link%5), SlugKey: fmt.Sprintf("s%06x", link*7919%0xffffff), Status: 302,
		EdgeRegion: []string{"fra", "ash", "sgp"}[visitor%3],
		UserAgent:  []byte(agents[visitor%len(agents)] + strconv.Itoa(visitor%40)),
		Address:    binary.BigEndian.AppendUint32(nil, 0x02000000+uint32(visitor)*9973),
	}
	c.Edge = "redirect-" + c.EdgeRegion + "-" + strconv.Itoa(v.n%2)
	binary.BigEndian.PutUint64(c.ID[:], uint64(c.TimeUnixMicro/1000)<<16|0x7000|uint64(v.random.IntN(0x1000)))
	binary.BigEndian.PutUint64(c.ID[8:], v.random.Uint64())
	binary.BigEndian.PutUint64(c.WorkspaceID[:], uint64(link%5+1)*0x9E3779B97F4A7C15)
	binary.BigEndian.PutUint64(c.LinkID[:], uint64(link)*0x9E3779B97F4A7C15)
	if v.random.IntN(10) > 3 {
		c.Referrer = []byte(referrers[v.random.IntN(len(referrers))])
	}
	c.AcceptLanguage = []byte(languages[visitor%len(languages)])
	if link%3 == 0 {
		c.Query = fmt.Appendf(nil, "utm_source=%s&utm_medium=email&utm_campaign=campaign-%d", []string{"newsletter", "twitter"}[link%2], link%50)
	}
	return events.AppendClick(nil, &c)
}

var (
	agents = []string{
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.",
		"Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.",
		"Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 334.0.4.32.",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html) ",
	}
	referrers = []string{
		"https://www.google.com/", "https://t.co/", "https://l.instagram.com/", "https://m.facebook.com/", "https://www.linkedin.com/feed/",
		"https://news.example.com/2026/11/some-article", "https://www.bing.com/", "https://chatgpt.com/",
	}
	languages = []string{"de-DE,de;q=0.9", "en-US,en;q=0.9", "fr-FR,fr;q=0.9", "es-ES,es;q=0.9", "pt-BR,pt;q=0.9", "ja", "nl-NL,nl;q=0.9,en;q=0.8"}
)

func (s *benchStack) ingest(total int) {
	s.b.Helper()
	if path := os.Getenv("LINKSTREAM_BENCH_PROFILE"); path != "" {
		file, err := os.Create(path)
		if err != nil {
			s.b.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		if err := pprof.StartCPUProfile(file); err != nil {
			s.b.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	admin := testproc.FreeAddr(s.b)
	environ := []string{
		"LINKSTREAM_KAFKA_BROKERS=" + s.brokerAddr, "LINKSTREAM_CLICKHOUSE_URL=" + s.store, "LINKSTREAM_ADMIN_ADDR=" + admin,
		"LINKSTREAM_LOG_LEVEL=warn", "LINKSTREAM_GEO_COUNTRY_FILE=" + countryFile(),
	}
	for _, pair := range os.Environ() {
		if strings.HasPrefix(pair, "LINKSTREAM_GEO_") || strings.HasPrefix(pair, "LINKSTREAM_CLICK_") {
			environ = append(environ, pair)
		}
	}
	ctx, cancel := context.WithCancel(s.b.Context())
	stopped := make(chan error, 1)
	self, kafka, rows, began := selfCPU(), s.cpu(s.broker), s.cpu(s.clickhouse), time.Now()
	go func() { stopped <- run(ctx, environ, nil, s.b.Output()) }()
	want := fmt.Sprintf("clicks_inserted_total %v\n", float64(total))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(metrics(s.b, admin), want) {
		select {
		case err := <-stopped:
			s.b.Fatal("ended before its time: ", err)
		case <-tick.C:
		}
	}
	s.took = time.Since(began)
	s.self, s.kafka, s.rows = selfCPU()-self, s.cpu(s.broker)-kafka, s.cpu(s.clickhouse)-rows
	cancel()
	if err := <-stopped; err != nil {
		s.b.Error(err)
	}
}

// countryFile is where compose/local/install.sh puts it; "" when it has not.
func countryFile() string {
	matches, err := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".cache", "linkstream", "geo", "*", "dbip-country.mmdb"))
	if err != nil || len(matches) == 0 {
		return ""
	}
	return matches[len(matches)-1]
}

func metrics(b *testing.B, admin string) string {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+admin+"/metrics", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return ""
	}
	return string(text)
}

func (s *benchStack) report(total int) {
	s.b.Helper()
	n := float64(total)
	s.b.ReportMetric(n/s.took.Seconds(), "clicks/s")
	s.b.ReportMetric(float64(s.self.Microseconds())/n, "cpu-µs/click:ingester")
	s.b.ReportMetric(float64(s.rows.Microseconds())/n, "cpu-µs/click:clickhouse")
	s.b.ReportMetric(float64(s.kafka.Microseconds())/n, "cpu-µs/click:broker")
	var rows, unique uint64
	var unknown float64
	if err := s.db.QueryRowContext(s.b.Context(), "SELECT count(), uniqExact(click_id), countIf(country = '') / count() FROM clicks").Scan(&rows, &unique, &unknown); err != nil || rows != uint64(total) || unique != rows {
		s.b.Errorf("%d rows of %d clicks (%v), want %d", rows, unique, err, total)
	}
	s.b.ReportMetric(100*(1-unknown), "%-places-known")
	for _, table := range []string{"clicks", "clicks_by_link", "clicks_by_value"} {
		if _, err := s.db.ExecContext(s.b.Context(), "OPTIMIZE TABLE "+table+" FINAL"); err != nil {
			s.b.Fatal(err)
		}
		var size float64
		if err := s.db.QueryRowContext(s.b.Context(), "SELECT toFloat64(sum(bytes_on_disk)) FROM system.parts WHERE active AND database = currentDatabase() AND table = '"+table+"'").Scan(&size); err != nil {
			s.b.Fatal(err)
		}
		s.b.ReportMetric(size/n, "bytes/click:"+table)
	}
}

func selfCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// cpu is what a process has used, in Linux's hundredths of a second; elsewhere 0.
func (s *benchStack) cpu(cmd *exec.Cmd) time.Duration {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}
