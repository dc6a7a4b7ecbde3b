package linkcache_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// same holds what is written against encoding/json.
func same(t *testing.T, r linkcache.Record) {
	t.Helper()
	want, wantErr := json.Marshal(r)
	got, err := r.Encode()
	if string(got) != string(want) || (err == nil) != (wantErr == nil) {
		t.Errorf("got %s, %v; want %s, %v", got, err, want, wantErr)
	}
}

func TestRecordsAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	same(t, record())
	same(t, linkcache.Record{})
	full := record()
	full.Flags, full.Status, full.StartsAt, full.ExpiresAt = linkcache.KnownFlags, 301, -5, 1<<62
	full.Fallback, full.Title, full.Options = "https://f.test/?a&b", "Été <\"\\\u2028\x00\n\x7f\xff>", `{ "m": 5, "r": [ "<" ] }`
	same(t, full)
	full.Options = "no JSON"
	same(t, full)
}

func FuzzEncode(f *testing.F) {
	f.Add("https://e.test/?a=b&c=<d>", "Été \"\\ \u2028", "", uint64(7), int64(1))
	f.Add("\xff\x00\x7f", "", `{"m":1}`, uint64(0), int64(-1))
	f.Fuzz(func(t *testing.T, destination, title, options string, revision uint64, at int64) {
		same(t, linkcache.Record{
			Destination: destination, Title: title, Fallback: title, Options: linkcache.OptionText(options), Revision: revision, Version: revision,
			StartsAt: at, ExpiresAt: at, Status: int(int16(at)), LinkID: uuid.UUID{0: byte(at), 15: byte(revision)},
		})
	})
}

// BenchmarkEncode writes a plain record, beside encoding/json.
func BenchmarkEncode(b *testing.B) {
	r := record()
	r.Destination, r.Title = "https://www.example.com/landing/t8xb123456?utm_source=newsletter&utm_campaign=spring", "Spring sale 123456"
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.Encode(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(&r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
