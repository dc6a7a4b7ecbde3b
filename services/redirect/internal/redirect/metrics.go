package redirect

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
)

// notLookedUp is the cache label of answers for which no link was looked up.
const notLookedUp = lookup.Sources

// metrics holds every child of every label, so that a request looks none up.
type metrics struct {
	responses [600]prometheus.Counter // by status, nil for those never answered
	duration  [lookup.Sources + 1]prometheus.Observer
}

func newMetrics(registry prometheus.Registerer) metrics {
	responses := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "redirect_responses_total", Help: "Answers by status.",
	}, []string{"status"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "redirect_duration_seconds",
		Help:    "From the read request to the finished answer, by what answered the look-up.",
		Buckets: []float64{.00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, .5, 2.5},
	}, []string{"cache"})
	registry.MustRegister(responses, duration)
	var m metrics
	for _, status := range []int{
		fasthttp.StatusOK, fasthttp.StatusNoContent, fasthttp.StatusMovedPermanently, fasthttp.StatusFound,
		fasthttp.StatusTemporaryRedirect, fasthttp.StatusPermanentRedirect, fasthttp.StatusBadRequest, fasthttp.StatusNotFound,
		fasthttp.StatusMethodNotAllowed, fasthttp.StatusRequestTimeout, fasthttp.StatusGone, fasthttp.StatusRequestEntityTooLarge,
		fasthttp.StatusTooManyRequests, fasthttp.StatusRequestHeaderFieldsTooLarge, fasthttp.StatusServiceUnavailable,
	} {
		m.responses[status] = responses.WithLabelValues(strconv.Itoa(status))
	}
	for source := range lookup.Sources {
		m.duration[source] = duration.WithLabelValues(lookup.Source(source).String())
	}
	m.duration[notLookedUp] = duration.WithLabelValues("none")
	return m
}

func (m *metrics) answered(status int) {
	if c := m.responses[status]; c != nil {
		c.Inc()
	}
}
