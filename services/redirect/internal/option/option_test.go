package option_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/linkoption"
	"github.com/linkstream/linkstream/services/internal/place"
	"github.com/linkstream/linkstream/services/redirect/internal/option"
)

const (
	chrome  = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
	iphone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
	google  = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
	slack   = "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"
	curl    = "curl/8.5.0"
	someone = "198.51.100.7"
)

// world is an edge that knows a few places.
type world struct {
	zones  *option.Zones
	senses *option.Senses
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "test", RecordSize: 24})
	if err != nil {
		tb.Fatal(err)
	}
	for prefix, where := range map[string][2]string{"193.0.6.0/24": {"NL", "North Holland"}, "81.2.69.0/24": {"GB", ""}, "2a00:1450::/32": {"DE", "Bavaria"}} {
		_, network, err := net.ParseCIDR(prefix)
		if err == nil {
			err = tree.Insert(network, mmdbtype.Map{"country_code": mmdbtype.String(where[0]), "state1": mmdbtype.String(where[1])})
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	var file bytes.Buffer
	if _, err := tree.WriteTo(&file); err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "city.mmdb")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	files := place.Open(tb.Context(), []string{path}, slog.New(slog.DiscardHandler))
	zones := option.NewZones()
	return &world{zones: zones, senses: option.NewEyes(files, zones).Senses()}
}

// compile goes the whole way of an option: as the API takes it, through the changelog, to
// the record.
func (w *world) compile(tb testing.TB, ev *eventspb.LinkChanged) option.Program {
	tb.Helper()
	id := make([]byte, 16)
	ev.LinkId, ev.WorkspaceId, ev.Destination, ev.Address = id, id, "https://own.test/", &eventspb.Address{Host: "s.test", SlugKey: "a"}
	entries, err := linkcache.Entries(ev)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := option.Compile(entries[0].Record.Options, w.zones)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func (w *world) rules(tb testing.TB, conditions ...string) option.Program {
	tb.Helper()
	var rules []linkoption.Rule
	for i, c := range conditions {
		var rule linkoption.Rule
		if err := json.Unmarshal([]byte(`{"conditions":[`+c+`]}`), &rule); err != nil {
			tb.Fatalf("%s: %v", c, err)
		}
		rule.Destination = fmt.Sprintf("https://%d.test/", i+1)
		rules = append(rules, rule)
	}
	checked, wrong := linkoption.CheckRules(rules, func(_, d string) (string, *linkoption.FieldError) { return d, nil })
	if len(wrong) > 0 {
		tb.Fatalf("%v: %v", conditions, wrong)
	}
	return w.compile(tb, &eventspb.LinkChanged{Rules: linkoption.RulesEvent(checked)})
}

func (w *world) visitor(edit func(*option.Visitor)) *option.Visitor {
	v := new(option.Visitor)
	v.Meet(w.senses)
	v.Now, v.Address, v.UserAgent = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), netip.MustParseAddr(someone), []byte(chrome)
	if edit != nil {
		edit(v)
	}
	return v
}

func TestConditions(t *testing.T) {
	w := newWorld(t)
	check := func(condition string, want bool, edit func(*option.Visitor)) {
		t.Helper()
		number, target := w.rules(t, condition).Rule(w.visitor(edit))
		if (number == 1) != want || want != (target == "https://1.test/") {
			t.Errorf("%s: rule %d, %q; want it to hold: %t", condition, number, target, want)
		}
	}
	from := func(addr string) func(*option.Visitor) {
		return func(v *option.Visitor) { v.Address = netip.MustParseAddr(addr) }
	}
	agent := func(ua string) func(*option.Visitor) {
		return func(v *option.Visitor) { v.UserAgent = []byte(ua) }
	}
	check(`{"type":"country","values":["DE","nl"]}`, true, from("193.0.6.1"))
	check(`{"type":"country","values":["DE"]}`, true, from("2a00:1450:4001:80e::200e"))
	check(`{"type":"country","values":["DE"]}`, false, from("193.0.6.1"))
	check(`{"type":"country","values":["DE"]}`, false, nil) // nobody knows where that is
	check(`{"type":"country","values":["DE"]}`, false, func(v *option.Visitor) { v.Address = netip.Addr{} })
	check(`{"type":"region","values":["north holland"]}`, true, from("193.0.6.1"))
	check(`{"type":"region","values":["NL/North Holland"]}`, true, from("193.0.6.1"))
	check(`{"type":"region","values":["DE/North Holland"]}`, false, from("193.0.6.1"))
	check(`{"type":"region","values":["North Holland"]}`, false, from("81.2.69.1"))
	check(`{"type":"continent","values":["eu"]}`, true, from("81.2.69.1"))
	check(`{"type":"continent","values":["NA"]}`, false, from("81.2.69.1"))

	check(`{"type":"device","values":["desktop","tv"]}`, true, nil)
	check(`{"type":"device","values":["mobile"]}`, false, nil)
	check(`{"type":"device","values":["mobile"]}`, true, agent(iphone))
	check(`{"type":"device","values":["mobile"]}`, false, agent(""))
	check(`{"type":"os","values":["ios"]}`, true, agent(iphone))
	check(`{"type":"os","values":["Windows"]}`, true, nil)
	check(`{"type":"browser","values":["Safari"]}`, true, agent(iphone))
	check(`{"type":"browser","values":["Safari"]}`, false, nil)
	check(`{"type":"bot"}`, true, agent(google))
	check(`{"type":"bot"}`, true, agent(curl))
	check(`{"type":"bot"}`, false, nil)
	check(`{"type":"bot","values":["false"]}`, true, nil)
	check(`{"type":"bot","values":["false"]}`, false, agent(slack))
	check(`{"type":"bot","values":["true","false"]}`, true, nil)
	check(`{"type":"bot"}`, true, func(v *option.Visitor) { v.Purpose = []byte("prefetch;prerender") })

	query := func(q string) func(*option.Visitor) { return func(v *option.Visitor) { v.Query = []byte(q) } }
	check(`{"type":"query","values":["ref"]}`, true, query("a=1&ref"))
	check(`{"type":"query","values":["ref"]}`, true, query("ref=x"))
	check(`{"type":"query","values":["ref"]}`, false, query("xref=x&a=ref"))
	check(`{"type":"query","values":["ref"]}`, false, query(""))
	check(`{"type":"query","values":["ref=news"]}`, true, query("ref=x&ref=news"))
	check(`{"type":"query","values":["ref=news"]}`, false, query("ref=newsletter&ref="))
	check(`{"type":"query","values":["ref="]}`, true, query("ref"))
	check(`{"type":"query","values":["ref="]}`, false, query("ref=1"))
	check(`{"type":"query","values":["a b=ü&"]}`, true, query("%61+b=%C3%BC%26"))
	check(`{"type":"query","values":["a=%"]}`, true, query("a=%"))
	check(`{"type":"query","values":["a=b=c"]}`, true, query("a=b=c"))

	check(`{"type":"address","values":["198.51.100.0/24"]}`, true, nil)
	check(`{"type":"address","values":["198.51.101.0/24","198.51.100.7"]}`, true, nil)
	check(`{"type":"address","values":["198.51.100.8"]}`, false, nil)
	check(`{"type":"address","values":["0.0.0.0/0"]}`, true, nil)
	check(`{"type":"address","values":["0.0.0.0/0"]}`, false, from("2001:db8::1"))
	check(`{"type":"address","values":["2001:db8::/32"]}`, true, from("2001:db8:1::1"))
	check(`{"type":"address","values":["2001:db8::/80"]}`, false, from("2001:db8::1:0:0:1"))
	check(`{"type":"address","values":["2001:db8::1"]}`, true, from("2001:db8::1"))
	check(`{"type":"address","values":["::/0"]}`, true, from("2001:db8::1"))
	check(`{"type":"address","values":["::/0"]}`, false, func(v *option.Visitor) { v.Address = netip.Addr{} })
}

func TestLanguageByQuality(t *testing.T) {
	w := newWorld(t)
	check := func(values, header string, want bool) {
		t.Helper()
		number, _ := w.rules(t, `{"type":"language","values":[`+values+`]}`).Rule(w.visitor(func(v *option.Visitor) { v.AcceptLanguage = []byte(header) }))
		if (number == 1) != want {
			t.Errorf("%s for %.80q: %t, want %t", values, header, number == 1, want)
		}
	}
	check(`"fr"`, "en;q=0.9, fr;q=0.1", false)
	check(`"fr"`, "fr;q=0", false)
	check(`"fr"`, "fr-CA", true)
	check(`"fr"`, "fr", true)
	check(`"fr"`, "", false)
	check(`"fr"`, strings.Repeat(",", 10<<10), false)
	check(`"fr"`, "en;q=0.5, FR ; q=0.8 , de;q=0.799", true)
	check(`"fr"`, "fr;q=1.000,en", true)
	check(`"fr"`, "en,fr", false) // equal: the first
	check(`"fr"`, "*, fr;q=0.9", false)
	check(`"fr"`, "*;q=0.1, fr;q=0.9", true)
	check(`"fr"`, "fry", false)
	check(`"fr"`, "fr_FR", true)
	check(`"fr"`, "fr;q=2, en;q=0.1", false)
	check(`"fr"`, "fr;q=x, en;q=0.1", false)
	check(`"fr"`, "fr;level=1", false)
	check(`"fr"`, "en;q=0, fr;q=0.001", true)
	check(`"en"`, "en-US,en;q=0.9", true)
	check(`"en-us"`, "en", false)
	check(`"pt-BR"`, "pt-br", true)
	check(`"de","fr"`, "fr-CH, de;q=0.9", true)
}

func TestTimeWindows(t *testing.T) {
	w := newWorld(t)
	check := func(condition, at string, want bool) {
		t.Helper()
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		number, _ := w.rules(t, `{"type":"time",`+condition+`}`).Rule(w.visitor(func(v *option.Visitor) { v.Now = now }))
		if (number == 1) != want {
			t.Errorf("%s at %s: %t, want %t", condition, at, number == 1, want)
		}
	}
	// 2026-11-30 is a Monday.
	check(`"from":"09:00","to":"17:00"`, "2026-11-30T09:00:00Z", true)
	check(`"from":"09:00","to":"17:00"`, "2026-11-30T08:59:59Z", false)
	check(`"from":"09:00","to":"17:00"`, "2026-11-30T16:59:59Z", true)
	check(`"from":"09:00","to":"17:00"`, "2026-11-30T17:00:00Z", false)
	check(`"from":"00:00","to":"24:00"`, "2026-11-30T23:59:59Z", true)
	check(`"from":"09:00","to":"09:00"`, "2026-11-30T03:00:00Z", true) // a whole day, from 9 to 9
	check(`"zone":"Europe/Berlin","from":"09:00","to":"17:00"`, "2026-11-30T08:30:00Z", true)
	check(`"zone":"Europe/Berlin","from":"09:00","to":"17:00"`, "2026-07-30T07:30:00Z", true) // summer time
	check(`"zone":"Asia/Kolkata","from":"00:00","to":"00:30"`, "2026-11-29T18:45:00Z", true)
	check(`"weekdays":["mon"]`, "2026-11-30T00:00:00Z", true)
	check(`"weekdays":["sun","tue"]`, "2026-11-30T12:00:00Z", false)
	check(`"weekdays":["sun"]`, "2026-11-29T23:59:59Z", true)
	check(`"zone":"Pacific/Auckland","weekdays":["tue"]`, "2026-11-30T12:00:00Z", true)
	check(`"weekdays":["fri"],"from":"22:00","to":"06:00"`, "2026-11-27T23:00:00Z", true)
	check(`"weekdays":["fri"],"from":"22:00","to":"06:00"`, "2026-11-28T05:59:00Z", true) // began on Friday
	check(`"weekdays":["fri"],"from":"22:00","to":"06:00"`, "2026-11-27T05:00:00Z", false)
	check(`"weekdays":["fri"],"from":"22:00","to":"06:00"`, "2026-11-28T12:00:00Z", false)
	check(`"weekdays":["mon","tue","wed","thu","fri","sat","sun"]`, "2026-11-28T12:00:00Z", true)
	check(`"starts_at":"2026-12-01T00:00:00Z"`, "2026-11-30T23:59:59Z", false)
	check(`"starts_at":"2026-12-01T00:00:00Z"`, "2026-12-01T00:00:00Z", true)
	check(`"ends_at":"2026-12-01T00:00:00Z"`, "2026-11-30T23:59:59Z", true)
	check(`"ends_at":"2026-12-01T00:00:00Z"`, "2026-12-01T00:00:00Z", false)
	check(`"ends_at":"2026-12-01T00:00:00Z","weekdays":["mon"],"from":"10:00","to":"11:00"`, "2026-11-30T10:30:00Z", true)
	check(`"ends_at":"2026-12-01T00:00:00Z","weekdays":["mon"],"from":"10:00","to":"11:00"`, "2026-12-07T10:30:00Z", false)
}

func TestTheFirstRuleWins(t *testing.T) {
	w := newWorld(t)
	const phone, bot, windows, always = `{"type":"device","values":["mobile"]}`, `{"type":"bot"}`, `{"type":"os","values":["Windows"]}`, `{"type":"address","values":["0.0.0.0/0"]}`
	check := func(p option.Program, want int) {
		t.Helper()
		number, target := p.Rule(w.visitor(nil))
		if number != want || want > 0 && target != fmt.Sprintf("https://%d.test/", want) {
			t.Errorf("rule %d, %q; want %d", number, target, want)
		}
	}
	check(w.rules(t), 0)
	check(w.rules(t, phone, bot), 0)
	check(w.rules(t, phone, windows, always), 2)
	check(w.rules(t, windows+","+phone, always+","+windows, always), 2) // all of a rule's conditions
	check("", 0)
	many := make([]string, linkoption.MaxRules)
	for i := range many {
		many[i] = phone
	}
	many[len(many)-1] = always
	check(w.rules(t, many...), len(many))

	// What this release does not know never holds, and nothing else is changed by it.
	odd := func(c *eventspb.Condition) *eventspb.Rule {
		return &eventspb.Rule{Destination: "https://odd.test/", Conditions: []*eventspb.Condition{c}}
	}
	rules := []*eventspb.Rule{
		odd(&eventspb.Condition{Kind: 99, Values: []string{"x"}}),
		odd(&eventspb.Condition{Kind: 256 + 8, Values: []string{"false"}}),
		odd(&eventspb.Condition{Kind: 8 - 256, Values: []string{"false"}}),
		odd(&eventspb.Condition{Kind: eventspb.Condition_KIND_TIME}),
		odd(&eventspb.Condition{Kind: eventspb.Condition_KIND_TIME, Time: &eventspb.Time{Zone: "Mars/Base"}}),
		odd(&eventspb.Condition{Kind: eventspb.Condition_KIND_TIME, Time: &eventspb.Time{Day: &eventspb.DayWindow{FromMinute: 9999}}}),
		odd(&eventspb.Condition{Kind: eventspb.Condition_KIND_ADDRESS, Values: []string{"nonsense"}}),
		odd(&eventspb.Condition{Kind: eventspb.Condition_KIND_COUNTRY, Values: []string{""}}),
		{Destination: "https://odd.test/"},
		{Destination: "https://10.test/", Conditions: []*eventspb.Condition{{Kind: eventspb.Condition_KIND_BOT, Values: []string{"false"}}}},
	}
	check(w.compile(t, &eventspb.LinkChanged{Rules: rules}), 10)
}

// The weights are kept within a tenth of what chance allows, and everybody keeps a variant.
func TestAVisitorKeepsAVariant(t *testing.T) {
	w := newWorld(t)
	split := func(end *time.Time, winner int, weights ...int) option.Program {
		s := linkoption.Split{EndsAt: end, Winner: winner}
		for i, weight := range weights {
			s.Variants = append(s.Variants, linkoption.Variant{Destination: fmt.Sprintf("https://%d.test/", i+1), Weight: weight})
		}
		return w.compile(t, &eventspb.LinkChanged{Split: s.Event()})
	}
	const visitors = 10_000
	link, other := [16]byte{1}, [16]byte{2}
	p, again := split(nil, 0, 70, 0, 30), split(nil, 0, 70, 0, 30)
	var got [4]float64
	moved := 0
	for i := range visitors {
		v := w.visitor(func(v *option.Visitor) { v.Address = netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) })
		n, target := p.Variant(v, &link)
		if second, _ := again.Variant(v, &link); second != n || target != fmt.Sprintf("https://%d.test/", n) {
			t.Fatalf("visitor %d gets variant %d (%q), then %d", i, n, target, second)
		}
		if n2, _ := p.Variant(v, &other); n2 != n {
			moved++
		}
		got[n]++
	}
	for i, want := range []float64{0, 0.7, 0, 0.3} {
		if share := got[i] / visitors; math.Abs(share-want) > 0.02 {
			t.Errorf("variant %d has %v of the visitors, want %v", i, share, want)
		}
	}
	if share := float64(moved) / visitors; math.Abs(share-0.42) > 0.03 { // 2 x 0.7 x 0.3
		t.Errorf("%v of the visitors have another variant at another link, want 0.42", share)
	}
	agents := map[int]bool{}
	for i := range 100 {
		n, _ := p.Variant(w.visitor(func(v *option.Visitor) { v.UserAgent = fmt.Append(nil, "agent ", i) }), &link)
		agents[n] = true
	}
	if len(agents) != 2 {
		t.Errorf("behind one address a hundred agents get the variants %v", agents)
	}

	check := func(what string, p option.Program, want int) {
		t.Helper()
		if n, _ := p.Variant(w.visitor(nil), &link); n != want {
			t.Errorf("%s: variant %d, want %d", what, n, want)
		}
	}
	now := w.visitor(nil).Now
	later := now.Add(time.Millisecond)
	check("none", "", 0)
	check("over", split(&now, 2, 1, 0), 2)
	check("over without a winner", split(&now, 0, 1, 1), 0)
	check("not over", split(&later, 2, 1, 0), 1)
	check("won already", split(nil, 2, 1, 0), 2)
	check("no weights", split(nil, 0, 0, 0), 0)
}

func TestWhoSpendsALimit(t *testing.T) {
	w := newWorld(t)
	check := func(ua, purpose string, bot, preview, spends bool) {
		t.Helper()
		v := w.visitor(func(v *option.Visitor) { v.UserAgent, v.Purpose = []byte(ua), []byte(purpose) })
		if v.Bot() != bot || v.PreviewBot() != preview || v.Spends() != spends {
			t.Errorf("%q, %q: bot %t, preview bot %t, spends %t", ua, purpose, v.Bot(), v.PreviewBot(), v.Spends())
		}
	}
	check(chrome, "", false, false, true)
	check("", "", false, false, true)
	check(chrome, "prefetch", true, false, false)
	check(google, "", true, false, false)
	check(slack, "", true, true, false)
	check(curl, "", true, false, true)
	check("Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/126.0.0.0 Safari/537.36", "", true, false, true)
}

func TestWhatElseAProgramHolds(t *testing.T) {
	w := newWorld(t)
	key := strings.Repeat("k", 32)
	p := w.compile(t, &eventspb.LinkChanged{
		MaxClicks: 100, MaxClicksSince: 7, Password: &eventspb.Password{UnlockKey: []byte(key)},
		Preview: &eventspb.Preview{Title: "T", Image: "https://i.test/"},
	})
	if limit, since := p.MaxClicks(); limit != 100 || since != 7 {
		t.Errorf("the limit is %d since %d", limit, since)
	}
	if got := p.UnlockKey(); got != key {
		t.Errorf("the key is %q", got)
	}
	if title, text, image := p.Preview(); title != "T" || text != "" || image != "https://i.test/" {
		t.Errorf("the preview is %q, %q, %q", title, text, image)
	}
	none := w.compile(t, &eventspb.LinkChanged{MaxClicks: 1})
	if title, text, image := none.Preview(); title+text+image+none.UnlockKey() != "" {
		t.Error("there is a preview or a key of nothing")
	}
	if title, text, image := option.Program("").Preview(); title+text+image != "" {
		t.Error("there is a preview of nothing")
	}
	if limit, _ := option.Program("").MaxClicks(); limit != 0 || option.Program("").UnlockKey() != "" {
		t.Error("there is a limit or a key of nothing")
	}
	for _, bad := range []linkcache.OptionText{"[]", `{"r":1}`, `{"z":300}`, linkcache.OptionText(`{"k":"` + strings.Repeat("AAAA", 100) + `"}`)} {
		if p, err := option.Compile(bad, w.zones); err == nil {
			t.Errorf("%.40s is compiled to %q", bad, p)
		}
	}
}

// Whatever stands in a region's Redis is refused or decides.
func FuzzCompile(f *testing.F) {
	w := newWorld(f)
	text, err := os.ReadFile("../../../../schemas/examples/link_changed/options.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text), "a=b", "fr;q=0.5")
	f.Add(`{"r":[{"c":[{"t":10,"w":{"z":"UTC","d":[1,2],"w":[9]}},{"t":-1}],"d":"x"}],"x":[{"d":"y","w":4294967295}],"m":1,"p":{}}`, "", "")
	f.Fuzz(func(_ *testing.T, text, query, language string) {
		p, err := option.Compile(linkcache.OptionText(text), w.zones)
		if err != nil {
			return
		}
		v := w.visitor(func(v *option.Visitor) { v.Query, v.AcceptLanguage = []byte(query), []byte(language) })
		p.Rule(v)
		p.Variant(v, &[16]byte{1})
		_, _ = p.MaxClicks()
		_ = p.UnlockKey()
		_, _, _ = p.Preview()
	})
}
