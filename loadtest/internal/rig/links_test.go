package rig

import (
	"strings"
	"testing"

	"github.com/linkstream/linkstream/loadtest/internal/metric"
	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

// The same bytes as the golden record of the services' own cache package.
func TestRecordIsWhatTheContractSays(t *testing.T) {
	got, err := appendRecord(nil, 41)
	want := `{"d":"https://www.example.com/articles/` + wire.Slug(41) + `?utm_source=linkstream\u0026utm_medium=qr","f":0,"v":1,"r":42,` +
		`"i":"01890a5d-ac96-774b-bcce-000000000029","w":"01890a5d-ac96-774b-bcce-b302099a8058"}`
	if err != nil || string(got) != want {
		t.Errorf("appendRecord = %s, %v; want %s", got, err, want)
	}
	if key := recordKey(41); key != "redirect:go.test:"+wire.Slug(41) {
		t.Errorf("recordKey = %s", key)
	}
}

func TestCommand(t *testing.T) {
	if got := string(appendCommand([]byte("x"), "SET", "k", "ä")); got != "x*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nä\r\n" {
		t.Errorf("appendCommand = %q", got)
	}
}

func TestMetrics(t *testing.T) {
	m, err := metric.Parse([]byte(strings.Join([]string{
		"# HELP a_total Help.", "# TYPE a_total counter", "a_total 3",
		`b_total{source="ttl"} 1.5e+06`, `b_total{source="gap"} 0`, "",
	}, "\n")))
	if err != nil || m["a_total"] != 3 || m[`b_total{source="ttl"}`] != 1.5e6 || len(m) != 3 {
		t.Errorf("Parse = %v, %v", m, err)
	}
	if _, err := metric.Parse([]byte("a_total\n")); err == nil {
		t.Error("a line without a value is accepted")
	}
	earlier := Metrics{"a_total": 1}
	if got := m.Since(earlier, "a_total"); got != 2 {
		t.Errorf("Since = %v, want 2", got)
	}
}
