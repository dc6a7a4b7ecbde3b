package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/linkoption"
	"github.com/linkstream/linkstream/services/links/internal/changelog"
)

// everything is a link with all that may be said about one.
const everything = `{"destination": "https://e.test/own", "slug": "all", "title": "T", "notes": "N", "tags": ["a"], "status_code": 307,
	"starts_at": "2030-01-01T00:00:00Z", "expires_at": "2031-01-01T00:00:00Z", "fallback_url": "https://e.test/over", "archived": true,
	"forward_query": "add", "disabled": true, "max_clicks": 7, "password": "open sesame", "forward_path": true,
	"utm": {"source": "s", "medium": "m", "campaign": "c", "term": "t", "content": "n"},
	"preview": {"title": "P", "text": "Q", "image": "https://e.test/i.png"},
	"rules": [{"conditions": [{"type": "country", "values": ["de"]}, {"type": "time", "zone": "Europe/Berlin", "weekdays": ["fri", "mon"], "from": "22:00", "to": "06:00",
		"starts_at": "2030-01-01T00:00:00+01:00", "ends_at": "2031-01-01T00:00:00Z"}], "destination": "https://e.test/rule"}],
	"variants": [{"destination": "https://e.test/a", "weight": 70, "name": "red"}, {"destination": "https://e.test/b", "weight": 30, "name": "blue"}],
	"variants_end_at": "2030-06-01T00:00:00Z", "variants_winner": 2}`

// lastChange is the newest record of the outbox, as a reader of the changelog gets it.
func (s *service) lastChange(t *testing.T) *eventspb.LinkChanged {
	t.Helper()
	var payload []byte
	if err := s.pool.QueryRow(t.Context(), `SELECT payload FROM outbox ORDER BY id DESC LIMIT 1`).Scan(&payload); err != nil {
		t.Fatal(err)
	}
	ev, err := events.DecodeLinkChanged(&kgo.Record{Value: payload})
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// members are those of an answer, as JSON.
func members(t *testing.T, a answer) map[string]string {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(a.raw), &raw); err != nil {
		t.Fatalf("%v: %s", err, a.raw)
	}
	out := map[string]string{}
	for name, text := range raw {
		out[name] = string(text)
	}
	return out
}

// Guards I66.
func TestWhateverIsSetIsShownToldAndCached(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.send(t, "POST", "/v1/links", everything)
	if made.status != 201 {
		t.Fatalf("got %d %s", made.status, made.raw)
	}
	if again := s.send(t, "GET", "/v1/links/"+made.ID, ""); again.raw != made.raw {
		t.Errorf("GET gives %s\nPOST gave %s", again.raw, made.raw)
	}
	got := members(t, made)
	for name, want := range map[string]string{
		"disabled": "true", "max_clicks": "7", "has_password": "true", "forward_path": "true", "forward_query": `"add"`, "password": "",
		"utm":     `{"source":"s","medium":"m","campaign":"c","term":"t","content":"n"}`,
		"preview": `{"title":"P","text":"Q","image":"https://e.test/i.png"}`,
		"rules": `[{"conditions":[{"type":"country","values":["DE"]},{"type":"time","zone":"Europe/Berlin","weekdays":["mon","fri"],"from":"22:00","to":"06:00",` +
			`"starts_at":"2029-12-31T23:00:00Z","ends_at":"2031-01-01T00:00:00Z"}],"destination":"https://e.test/rule"}]`,
		"variants":        `[{"destination":"https://e.test/a","weight":70,"name":"red"},{"destination":"https://e.test/b","weight":30,"name":"blue"}]`,
		"variants_end_at": `"2030-06-01T00:00:00Z"`, "variants_winner": "2",
	} {
		if got[name] != want {
			t.Errorf("%s is shown as %s, want %s", name, got[name], want)
		}
	}

	// A field of the changelog that nothing sets is one that was forgotten.
	ev := s.lastChange(t)
	fields := ev.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); ev.ProtoReflect().Has(f) == (f.Name() == "previous_address") {
			t.Errorf("%s of the changelog is set: %t", f.Name(), ev.ProtoReflect().Has(f))
		}
	}
	want := linkoption.RulesOf(ev.GetRules())
	if text, err := json.Marshal(want); err != nil || string(text) != got["rules"] {
		t.Errorf("the rules of the changelog are %s, %v", text, err)
	}
	if split := linkoption.SplitOf(ev.GetSplit()); len(split.Variants) != 2 || split.Variants[1].Name != "blue" || split.Winner != 2 || split.EndsAt == nil {
		t.Errorf("the split of the changelog is %+v", split)
	}

	// And into Redis; that no field is lost on the way there is linkcache's own test.
	entries, err := linkcache.Entries(ev)
	if err != nil {
		t.Fatal(err)
	}
	value, err := entries[0].Record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	record, err := linkcache.Decode(value)
	if err != nil {
		t.Fatal(err)
	}
	options, err := record.Options.Parse()
	if err != nil || options.MaxClicks != 7 || options.MaxClicksSince != 1 || len(options.UnlockKey) < 32 || len(options.Rules) != 1 || len(options.Variants) != 2 || options.Preview == nil ||
		record.Destination != "https://e.test/own?utm_source=s&utm_medium=m&utm_campaign=c&utm_term=t&utm_content=n" {
		t.Errorf("the record is %s, %v", value, err)
	}

	// The origin's answer is the same.
	l, err := s.store.Resolve(t.Context(), host, "all")
	if err != nil {
		t.Fatal(err)
	}
	if current := changelog.Current(l); !proto.Equal(current, ev) {
		t.Errorf("the origin answers %v\nthe changelog has %v", current, ev)
	}
}

func TestEveryOptionIsEditedAndTakenAway(t *testing.T) {
	t.Parallel()
	s := newService(t)
	plain := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1"}`)
	path := "/v1/links/" + plain.ID
	step := func(patch string, version int, want map[string]string) *eventspb.LinkChanged {
		t.Helper()
		a := s.send(t, "PATCH", path, patch)
		if a.status != 200 || a.Version != version {
			t.Fatalf("%s gives %d %s, want version %d", patch, a.status, a.raw, version)
		}
		got := members(t, a)
		for name, text := range want {
			if got[name] != text {
				t.Errorf("%s: %s is %s, want %s", patch, name, got[name], text)
			}
		}
		ev := s.lastChange(t)
		if int(ev.GetVersion()) != version {
			t.Errorf("%s: the changelog has version %d, want %d", patch, ev.GetVersion(), version)
		}
		return ev
	}
	step(`{"disabled": true}`, 2, map[string]string{"disabled": "true"})
	step(`{"disabled": null}`, 3, map[string]string{"disabled": "false"})
	step(`{"max_clicks": 5}`, 4, map[string]string{"max_clicks": "5"})
	if ev := step(`{"max_clicks": 6}`, 5, nil); ev.GetMaxClicks() != 6 || ev.GetMaxClicksSince() != 4 {
		t.Errorf("the changelog says %d since %d", ev.GetMaxClicks(), ev.GetMaxClicksSince())
	}
	step(`{"max_clicks": null}`, 6, map[string]string{"max_clicks": "null"})
	step(`{"utm": {"source": "s", "medium": "m"}}`, 7, map[string]string{"utm": `{"source":"s","medium":"m"}`})
	step(`{"utm": {"source": null, "term": "t"}}`, 8, map[string]string{"utm": `{"medium":"m","term":"t"}`})
	step(`{"utm": {}}`, 8, map[string]string{"utm": `{"medium":"m","term":"t"}`})
	step(`{"utm": null}`, 9, map[string]string{"utm": "null"})
	step(`{"preview": {"title": "T", "image": "https://e.test/i"}}`, 10, map[string]string{"preview": `{"title":"T","image":"https://e.test/i"}`})
	step(`{"preview": {"title": null}}`, 11, map[string]string{"preview": `{"image":"https://e.test/i"}`})
	step(`{"preview": null}`, 12, map[string]string{"preview": "null"})
	step(`{"rules": [{"conditions": [{"type": "bot"}], "destination": "https://e.test/r"}]}`, 13, map[string]string{"rules": `[{"conditions":[{"type":"bot","values":["true"]}],"destination":"https://e.test/r"}]`})
	step(`{"rules": [{"conditions": [{"type": "bot", "values": ["TRUE"]}], "destination": "https://E.test/r"}]}`, 13, nil)
	step(`{"rules": []}`, 14, map[string]string{"rules": "[]"})
	step(`{"variants": [{"destination": "https://e.test/a", "weight": 1}], "variants_winner": 1, "variants_end_at": "2030-01-01T00:00:00.1239Z"}`, 15, map[string]string{"variants_winner": "1", "variants_end_at": `"2030-01-01T00:00:00.123Z"`})
	step(`{"variants_winner": null}`, 16, map[string]string{"variants_winner": "null", "variants_end_at": `"2030-01-01T00:00:00.123Z"`})
	step(`{"variants": null}`, 17, map[string]string{"variants": "[]", "variants_end_at": "null"})
	step(`{"forward_path": true}`, 18, map[string]string{"forward_path": "true"})
	step(`{"forward_path": false}`, 19, map[string]string{"forward_path": "false"})
	first := step(`{"password": "open sesame"}`, 20, map[string]string{"has_password": "true"})
	second := step(`{"password": "open sesame"}`, 21, map[string]string{"has_password": "true"})
	if a, b := first.GetPassword().GetUnlockKey(), second.GetPassword().GetUnlockKey(); len(a) != 32 || string(a) == string(b) {
		t.Errorf("the unlock keys are %x and %x: a password that is set anew has to end older cookies", a, b)
	}
	if ev := step(`{"title": "x"}`, 22, map[string]string{"has_password": "true"}); string(ev.GetPassword().GetUnlockKey()) != string(second.GetPassword().GetUnlockKey()) {
		t.Error("another edit made another unlock key")
	}
	if ev := step(`{"password": null}`, 23, map[string]string{"has_password": "false"}); ev.GetPassword() != nil {
		t.Error("the changelog still has a password")
	}
	if n := s.count(t, `SELECT count(*) FROM links WHERE options IS NULL AND password_hash IS NULL AND unlock_key IS NULL AND max_clicks IS NULL AND max_clicks_since IS NULL`); n != 1 {
		t.Error("something is left in the row")
	}
}

func TestBadOptionsAreRefusedByName(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1"}`)
	refuse := func(fields, wrong string) {
		t.Helper()
		for _, a := range []answer{
			s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1", `+fields+`}`),
			s.send(t, "PATCH", "/v1/links/"+made.ID, `{`+fields+`}`),
		} {
			if a.status != 422 || a.wrong() != wrong {
				t.Errorf("%.200s gives %d %s\nwant %s", fields, a.status, a.raw, wrong)
			}
		}
	}
	rule := func(condition string) string {
		return `"rules": [{"conditions": [` + condition + `], "destination": "https://e.test/r"}]`
	}
	refuse(`"max_clicks": 1.5`, "max_clicks:invalid")
	refuse(`"max_clicks": 1000000000001`, "max_clicks:invalid")
	refuse(`"password": "abc"`, "password:too_short")
	refuse(`"password": "`+strings.Repeat("x", 129)+`"`, "password:too_long")
	refuse(`"password": "a\u0000bc"`, "password:invalid")
	refuse(`"password_hash": "x"`, "password_hash:unknown")
	refuse(`"has_password": false`, "has_password:unknown")
	refuse(`"utm": {"color": "red"}`, "utm.color:unknown")
	refuse(`"utm": []`, "utm:invalid")
	refuse(`"utm": {"source": "a\u0001"}`, "utm.source:invalid")
	refuse(`"utm": {"source": "`+strings.Repeat("x", 501)+`"}`, "utm.source:too_long")
	refuse(`"preview": {"image": "data:image/png;base64,x"}`, "preview.image:not_allowed")
	refuse(`"rules": {}`, "rules:invalid")
	refuse(`"rules": [{"conditions": [], "destination": "https://e.test/r"}]`, "rules[0].conditions:required")
	refuse(rule(`{"type": "moon", "values": ["full"]}`), "rules[0].conditions[0].type:invalid")
	refuse(rule(`{"type": "country"}`), "rules[0].conditions[0].values:required")
	refuse(rule(`{"type": "country", "values": ["Germany"]}`), "rules[0].conditions[0].values[0]:invalid")
	refuse(rule(`{"type": "time", "zone": "Mars/Base"}`), "rules[0].conditions[0]:required rules[0].conditions[0].zone:invalid")
	refuse(`"rules": [`+strings.TrimSuffix(strings.Repeat(`{"conditions": [{"type": "bot"}], "destination": "https://e.test/r"},`, 51), ",")+`]`, "rules:too_many")
	refuse(`"rules": [{"conditions": [{"type": "bot"}], "destination": "https://go.test/loop"}], "variants": [{"destination": "https://go.test/loop", "weight": 1}]`, "rules[0].destination:own_domain variants[0].destination:own_domain")
	refuse(`"variants": [{"destination": "https://e.test/r", "weight": 0}]`, "variants:invalid")
	refuse(`"variants": [{"destination": "https://e.test/r", "weight": 10001}]`, "variants[0].weight:invalid")
	refuse(`"variants": [{"destination": "https://e.test/r", "weight": 1}], "variants_winner": 2`, "variants_winner:invalid")
	refuse(`"forward_path": true, "slug": "a/b/c/d"`, "forward_path:not_allowed")
	refuse(`"variants_end_at": "2030-01-01T00:00:00Z"`, "variants_end_at:invalid")
	if n := s.count(t, `SELECT count(*) FROM outbox`); n != 1 {
		t.Errorf("%d records, want that of the first link", n)
	}
}

// What the query finds and what Fits says are one: every option, given alone and given
// otherwise, in a call of its own and together with the link that it looks for.
func TestFindOrCreateComparesEveryOption(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const destination = `"destination": "https://e.test/own"`
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(everything), &given); err != nil {
		t.Fatal(err)
	}
	delete(given, "slug")
	delete(given, "destination")
	// all of them, with one replaced.
	with := func(name, value string) string {
		var text strings.Builder
		text.WriteString(destination)
		for given, has := range given {
			if given == name {
				has = json.RawMessage(value)
			}
			text.WriteString(`, "` + given + `": ` + string(has))
		}
		return text.String()
	}
	whole := with("", "")
	ask := func(fields string) answer {
		t.Helper()
		a := s.send(t, "POST", "/v1/links", `{`+fields+`, "find_or_create": true}`)
		if a.status != 200 && a.status != 201 {
			t.Fatalf("%s gives %d %s", fields, a.status, a.raw)
		}
		return a
	}
	first := ask(whole)
	if a := ask(whole); a.status != 200 || a.ID != first.ID {
		t.Errorf("the same again gives %d %s", a.status, a.ID)
	}
	others := map[string]string{
		"title": `"U"`, "notes": `"O"`, "tags": `["b"]`, "status_code": "308", "starts_at": `"2029-01-01T00:00:00Z"`, "expires_at": `"2032-01-01T00:00:00Z"`,
		"fallback_url": `"https://e.test/other"`, "archived": "false", "forward_query": `"off"`, "disabled": "false", "max_clicks": "8", "password": `"open sesam!"`,
		"forward_path": "false", "utm": `{"source": "s"}`, "preview": `{"title": "P"}`, "rules": "[]", "variants": `[{"destination": "https://e.test/a", "weight": 70}, {"destination": "https://e.test/b", "weight": 31}]`,
		"variants_end_at": `"2030-07-01T00:00:00Z"`, "variants_winner": "1",
	}
	for name, value := range given {
		if !strings.HasPrefix(name, "variants_") { // they need variants beside them
			archived := `, "archived": true` // who does not say so looks for one that is not
			if name == "archived" {
				archived = ""
			}
			if a := ask(destination + archived + `, "` + name + `": ` + string(value)); a.status != 200 || a.ID != first.ID {
				t.Errorf("%s alone gives %d %s", name, a.status, a.raw)
			}
		}
		if others[name] == "" {
			t.Fatalf("say what another %s is", name)
		}
		other := with(name, others[name])
		a := ask(other)
		if a.status != 201 {
			t.Errorf("another %s finds %s", name, a.raw)
		}
		if again := ask(other); again.status != 200 || again.ID != a.ID {
			t.Errorf("another %s is made twice", name)
		}
		// In one call, the second is compared with a link that is not stored yet.
		unique := strings.Replace(other, "/own", "/bulk-"+name, 1)
		bulk := s.send(t, "POST", "/v1/links/bulk", `{"links": [{`+unique+`, "find_or_create": true}, {`+unique+`, "find_or_create": true}]}`)
		if len(bulk.Results) != 2 || bulk.Results[0].Status != 201 || bulk.Results[1].Status != 200 {
			t.Errorf("%s in bulk: %s", name, bulk.raw)
		}
	}
}

func TestPasswordsAreComparedWhenALinkIsLookedFor(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ask := func(fields string, status int) string {
		t.Helper()
		a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1", "find_or_create": true`+fields+`}`)
		if a.status != status {
			t.Errorf("%s gives %d %s, want %d", fields, a.status, a.raw, status)
		}
		return a.ID
	}
	other := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1", "slug": "first", "password": "correct horse"}`) // under a salt of its own
	if id := ask(`, "password": "correct horse"`, 200); id != other.ID {
		t.Errorf("found %s, want %s", id, other.ID)
	}
	if id := ask(`, "password": "correct horse", "slug": "first"`, 200); id != other.ID {
		t.Errorf("found %s, want %s", id, other.ID)
	}
	ask(`, "password": "wrong horse", "slug": "first"`, 409)
	made := ask(`, "password": "battery staple"`, 201)
	if id := ask(`, "password": "battery staple"`, 200); id != made {
		t.Errorf("found %s, want %s", id, made)
	}
	// Composed and decomposed letters are the same password.
	made = ask(`, "password": "caf\u00e9"`, 201)
	if id := ask(`, "password": "cafe\u0301"`, 200); id != made {
		t.Errorf("found %s, want %s", id, made)
	}
}

// Guards I67.
func TestAPasswordAndWhatIsStoredOfItAreShownNowhere(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const given = "Xy7-open-sesame"
	text := `{"destination": "https://e.test/1", "slug": "p", "password": "` + given + `"}`
	answers := []answer{
		s.send(t, "POST", "/v1/links", text, withKey),
		s.send(t, "POST", "/v1/links", text, withKey),
		s.send(t, "POST", "/v1/links/bulk", `{"links": [`+strings.Replace(text, `"p"`, `"q"`, 1)+`, `+text+`]}`),
		s.send(t, "PATCH", "/v1/links/01890a5d-ac96-774b-bcce-b302099a8057", `{"password": "`+given+`"}`),
		s.send(t, "POST", "/v1/links", `{"destination": "x", "password": "`+given+`"}`),
		s.send(t, "POST", "/v1/links", `{"destination": "https://e.test", "password": "`+strings.Repeat(given, 10)+`"}`),
		s.send(t, "POST", "/v1/links", `{"destination": "https://e.test", "password": ["`+given+`"]}`),
	}
	id := answers[0].ID
	answers = append(answers, s.send(t, "PATCH", "/v1/links/"+id, `{"password": "`+given+`!"}`), s.send(t, "GET", "/v1/links/"+id, ""), s.send(t, "GET", "/v1/links", ""))
	secrets := []string{given, "argon2", "unlock", "hash"}
	rows, err := s.pool.Query(t.Context(), `SELECT encode(unlock_key, 'base64') FROM links`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, key)
	}
	for i, a := range answers {
		for _, secret := range secrets {
			if strings.Contains(a.raw, secret) || strings.Contains(fmt.Sprint(a.header), secret) {
				t.Errorf("answer %d shows %q: %s", i, secret, a.raw)
			}
		}
	}
	// The database has the password nowhere, and its hash nowhere but in its column:
	// neither in what edges and consumers are told, nor in what is kept to replay answers.
	var dump string
	if err := s.pool.QueryRow(t.Context(), `SELECT string_agg(text, ' ') FROM (
		SELECT (l.*)::text || encode(unlock_key, 'escape') AS text FROM links l UNION ALL SELECT encode(payload, 'escape') FROM outbox UNION ALL SELECT (k.*)::text || encode(answer, 'escape') FROM idempotency_keys k) AS everything`).Scan(&dump); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(dump, given) {
		t.Error("the database has the password")
	}
	// Nor a hash of the request that could be made of all passwords there are, quickly.
	for _, body := range []string{text, given} {
		sum := sha256.Sum256([]byte("POST\x00/v1/links\x00\x00" + body))
		if strings.Contains(dump, hex.EncodeToString(sum[:])) {
			t.Error("the database has a fast hash of a request with a password")
		}
	}
	if n := strings.Count(dump, "$argon2id$v=19$"); n != 2 {
		t.Errorf("the database has %d hashes, want one for each link", n)
	}
}

func TestABulkCallSetsFiftyPasswordsAtMost(t *testing.T) {
	t.Parallel()
	s := newService(t)
	row := `{"destination": "https://e.test/1", "password": "open sesame"}`
	a := s.send(t, "POST", "/v1/links/bulk", `{"links": [`+strings.Repeat(row+",", 51)+`{"destination": "https://e.test/1"}]}`)
	if a.status != 200 || len(a.Results) != 52 || a.Results[49].Status != 201 || a.Results[50].Status != 422 || a.Results[50].Error.Errors[0].Code != "too_many" || a.Results[51].Status != 201 {
		t.Errorf("got %d %.2000s", a.status, a.raw)
	}
	if n := s.count(t, `SELECT count(DISTINCT password_hash) FROM links`); n != 50 {
		t.Errorf("%d different hashes", n)
	}
}
