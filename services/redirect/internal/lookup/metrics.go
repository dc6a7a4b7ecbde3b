package lookup

import "github.com/prometheus/client_golang/prometheus"

// reason is why entries stopped being trusted, a label of cache_invalidation_total.
type reason uint8

const (
	byMessage reason = iota
	byAge
	byPurge
	byGap
	byReconnect
	reasons
)

type metrics struct {
	l1Hit, l1Miss         prometheus.Counter
	l2Hit, l2Miss, l2Fail prometheus.Counter
	originRequest         prometheus.Counter
	originFail            prometheus.Counter
	originRefused         prometheus.Counter
	stale                 prometheus.Counter
	refresh, probe        prometheus.Counter
	floorsDropped         prometheus.Counter
	invalidation          [reasons]prometheus.Counter
}

func newMetrics(registry prometheus.Registerer, bytes func() float64, budget int64) metrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		registry.MustRegister(c)
		return c
	}
	m := metrics{
		l1Hit:         counter("cache_l1_hit_total", "Look-ups answered from this process."),
		l1Miss:        counter("cache_l1_miss_total", "Look-ups for which somebody had to be asked."),
		l2Hit:         counter("cache_l2_hit_total", "Fills answered by Redis."),
		l2Miss:        counter("cache_l2_miss_total", "Fills that Redis had no record for, or one below the floor."),
		l2Fail:        counter("cache_l2_error_total", "Fills for which Redis did not answer."),
		originRequest: counter("cache_origin_request_total", "Questions to the links service."),
		originFail:    counter("cache_origin_error_total", "Questions that the links service did not answer."),
		originRefused: counter("cache_origin_refused_total", "Questions not asked because too many were under way."),
		refresh:       counter("cache_refresh_total", "Entries asked for again in the background, before their time was over."),
		probe:         counter("cache_probe_total", "Look-ups for monitors, which pass by this process's memory."),
		floorsDropped: counter("cache_floors_dropped_total", "Times that a 256th of what is held had to be asked for again because too much changed at once."),
		stale:         counter("cache_stale_served_total", "Look-ups answered from this process because nobody could confirm the entry."),
	}
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cache_invalidation_total",
		Help: "Times that entries stopped being trusted: one key for pubsub, ttl and purge, all for gap and reconnect.",
	}, []string{"source"})
	registry.MustRegister(vec, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cache_l1_memory_bytes", Help: "What the entries in this process cost, by their own account.",
	}, bytes), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cache_l1_budget_bytes", Help: "What they may cost.",
	}, func() float64 { return float64(budget) }))
	m.invalidation = [reasons]prometheus.Counter{
		byMessage:   vec.WithLabelValues("pubsub"),
		byAge:       vec.WithLabelValues("ttl"),
		byPurge:     vec.WithLabelValues("purge"),
		byGap:       vec.WithLabelValues("gap"),
		byReconnect: vec.WithLabelValues("reconnect"),
	}
	return m
}
