package metric_test

import (
	"testing"

	"github.com/linkstream/linkstream/loadtest/internal/metric"
)

func TestMetricsAreSummedByTheirWholeName(t *testing.T) {
	got, err := metric.Parse([]byte("# HELP a b\na_total{x=\"1\"} 2\na_total{x=\"2 3\"} 3\na_total_more 9\nb 1e3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Sum("a_total") != 5 || got.Sum("b") != 1000 || got.Sum("c") != 0 {
		t.Errorf("%v", got)
	}
	if _, err := metric.Parse([]byte("word\n")); err == nil {
		t.Error("a line without a value was taken")
	}
}
