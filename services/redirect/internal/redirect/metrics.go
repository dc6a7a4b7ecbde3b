package redirect

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
)

// notLookedUp is the cache label of answers for which no link was looked up.
const notLookedUp = lookup.Sources

// metrics holds every child of every label, so that a request looks none up.
type metrics struct {
	responses [600]prometheus.Counter // by status, nil for those never answered
	duration  *durations
}

func newMetrics(registry prometheus.Registerer) metrics {
	responses := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "redirect_responses_total", Help: "Answers by status.",
	}, []string{"status"})
	duration := &durations{}
	registry.MustRegister(responses, duration)
	m := metrics{duration: duration}
	for _, status := range []int{
		http.StatusOK, http.StatusNoContent, http.StatusMovedPermanently, http.StatusFound,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect, http.StatusBadRequest, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusRequestTimeout, http.StatusGone, http.StatusRequestEntityTooLarge,
		http.StatusTooManyRequests, http.StatusHTTPVersionNotSupported, http.StatusRequestHeaderFieldsTooLarge, http.StatusServiceUnavailable,
	} {
		m.responses[status] = responses.WithLabelValues(strconv.Itoa(status))
	}
	return m
}

func (m *metrics) answered(status int) {
	if c := m.responses[status]; c != nil {
		c.Inc()
	}
}
