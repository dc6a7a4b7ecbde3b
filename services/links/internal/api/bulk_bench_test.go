package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkBulk makes 1,000 links a call, through the whole handler into Postgres.
func BenchmarkBulk(b *testing.B) {
	s := newService(b)
	for n := 0; b.Loop(); n++ {
		rows := make([]string, 1000)
		for i := range rows {
			rows[i] = fmt.Sprintf(`{"destination": "https://www.example.com/landing/%d-%d?utm_source=newsletter", "title": "Spring sale %d", "tags": ["load", "spring"]}`, n, i, i)
		}
		if a, err := s.try(b.Context(), "POST", "/v1/links/bulk", `{"links": [`+strings.Join(rows, ",")+`]}`); err != nil || a.status != http.StatusOK || a.Results[999].Status != 201 {
			b.Fatalf("%d %.300s %v", a.status, a.raw, err)
		}
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "links/s")
}
