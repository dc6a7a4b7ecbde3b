package enrich

import (
	"fmt"
	"testing"

	"github.com/linkstream/linkstream/events"
)

// A thousand different visitors, as many agents as a busy hour brings.
func BenchmarkFill(b *testing.B) {
	values := make([][]byte, 1000)
	for i := range values {
		values[i] = events.AppendClick(nil, &events.Click{
			ID: [16]byte{byte(i), byte(i >> 8)}, TimeUnixMicro: minTimeUnixMicro + int64(i), Host: "go.test", SlugKey: fmt.Sprint("slug-", i%100), Status: 302,
			EdgeRegion: "fra", Edge: "redirect-fra-0", Address: []byte{81, 2, byte(i), byte(i >> 8)},
			UserAgent:      fmt.Appendf(nil, "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.%d.0 Safari/537.36", i%300),
			Referrer:       fmt.Appendf(nil, "https://www.google.com/%d", i%50),
			AcceptLanguage: []byte("de-CH,de;q=0.9,en;q=0.8"), Query: []byte("utm_source=newsletter&utm_medium=email"),
		})
	}
	e, key := New(NewTables(), noPlaces()), NewKey()
	var click Click
	var row Row
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := click.Decode(values[i%len(values)]); err != nil {
			b.Fatal(err)
		}
		e.Fill(&row, &click, click.TimeUnixMicro, false, &key)
	}
}

// Agents that nobody has sent before: what a flood of them costs.
func BenchmarkUnknownAgent(b *testing.B) {
	tables := NewTables()
	agent := []byte("Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36")
	b.ReportAllocs()
	for b.Loop() {
		tables.agents.Read(agent)
	}
}
