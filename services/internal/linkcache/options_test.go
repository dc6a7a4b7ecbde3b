package linkcache_test

import (
	"bytes"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// everything is a link with all options.
func everything(t *testing.T) *eventspb.LinkChanged {
	t.Helper()
	text, err := os.ReadFile("../../../schemas/examples/link_changed/options.json")
	if err != nil {
		t.Fatal(err)
	}
	ev := &eventspb.LinkChanged{}
	if err := protojson.Unmarshal(text, ev); err != nil {
		t.Fatal(err)
	}
	return ev
}

func valueOf(t *testing.T, ev *eventspb.LinkChanged) []byte {
	t.Helper()
	entries, err := linkcache.Entries(ev)
	if err != nil {
		t.Fatal(err)
	}
	value, err := entries[0].Record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// The bytes in Redis are a contract between releases that run side by side.
func TestOptionsGoldenBytes(t *testing.T) {
	const utm = `utm_source=news\u0026utm_medium=email\u0026utm_campaign=launch\u0026utm_term=shoes\u0026utm_content=top`
	const want = `{"d":"https://e.test/launch?` + utm + `","f":2021,"v":4,"r":58,"i":"019acf12-dc00-7000-8000-000000000001",` +
		`"w":"019acf12-dc00-7000-8000-000000000002","t":"Launch","o":{"m":100,"n":3,"k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",` +
		`"r":[{"c":[{"t":1,"v":["DE","AT"]},{"t":2,"v":["DE/Bavaria"]},{"t":3,"v":["EU"]},{"t":4,"v":["de","pt-br"]},{"t":5,"v":["mobile","tablet"]},` +
		`{"t":6,"v":["iOS"]},{"t":7,"v":["Safari"]},{"t":8,"v":["false"]},{"t":9,"v":["ref=news","beta"]},` +
		`{"t":10,"w":{"z":"Europe/Berlin","w":[1,5],"d":[540,1020],"a":1796083200000,"e":1798761600000}},{"t":11,"v":["203.0.113.0/24","2001:db8::1"]}],` +
		`"d":"https://e.test/de?` + utm + `"}],"x":[{"d":"https://e.test/a?` + utm + `","w":70},{"d":"https://e.test/b?` + utm + `","w":30}],` +
		`"y":1798070400000,"z":1,"p":{"t":"Now","x":"It is here.","i":"https://e.test/card.png"}}}`
	value := valueOf(t, everything(t))
	if string(value) != want {
		t.Errorf("got  %s\nwant %s", value, want)
	}
	back, err := linkcache.Decode([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	back.Status = 0 // what a reader makes of none
	if again, err := back.Encode(); err != nil || !bytes.Equal(again, value) {
		t.Errorf("decoded and encoded again: %s, %v", again, err)
	}
	options, err := back.Options.Parse()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := options.Text(); err != nil || text != back.Options {
		t.Errorf("options read and written again: %s, %v", text, err)
	}
	if at := back.CreatedAt().UTC().Format("2006-01-02"); at != "2025-11-29" {
		t.Errorf("made at %s", at)
	}
}

// A field of a change is either in the record or here, with what it is not needed for.
func TestNoFieldOfAChangeIsForgotten(t *testing.T) {
	notInTheRecord := map[protoreflect.Name]string{
		"previous_address": "has an entry of its own",
		"kind":             "only a deletion makes a difference",
		"changed_at":       "caches compare revisions",
		"tags":             "for people", "notes": "for people", "archived": "it keeps redirecting",
		"created_at": "the link's id says it", "updated_at": "for people",
		"address": "is the key",
	}
	all := valueOf(t, everything(t))
	fields := everything(t).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if _, known := notInTheRecord[field.Name()]; known {
			continue
		}
		ev := everything(t)
		switch m := ev.ProtoReflect(); {
		case field.Name() == "link_id", field.Name() == "workspace_id":
			m.Set(field, protoreflect.ValueOfBytes([]byte("another of 16 by")))
		case field.Name() == "status_code":
			ev.StatusCode = 301
		case m.Has(field):
			m.Clear(field)
		case field.Message() != nil: // starts_at, expires_at
			m.Set(field, protoreflect.ValueOfMessage(ev.GetChangedAt().ProtoReflect()))
		default:
			m.Set(field, protoreflect.ValueOfString("https://f.test/"))
		}
		if proto.Equal(ev, everything(t)) {
			t.Fatalf("%s was not changed", field.Name())
		}
		if bytes.Equal(valueOf(t, ev), all) {
			t.Errorf("%s makes no difference to the record: add it, or say here why not", field.Name())
		}
	}
}

func TestOptionsThatAreNoneAreNoText(t *testing.T) {
	ev := everything(t)
	ev.MaxClicks, ev.Password, ev.Rules, ev.Split, ev.Preview, ev.Utm = 0, nil, nil, nil, nil, nil
	entries, err := linkcache.Entries(ev)
	if err != nil || entries[0].Record.Options != "" {
		t.Errorf("%+v, %v; want no options", entries, err)
	}
	if _, err := linkcache.OptionText(`[]`).Parse(); err == nil {
		t.Error("a list is read as options")
	}
	if got, err := linkcache.Decode([]byte(`{"d":"https://e.test/","f":0,"v":1,"r":1,"o":null}`)); err != nil || got.Options != "" {
		t.Errorf("null options: %+v, %v", got, err)
	}
}
