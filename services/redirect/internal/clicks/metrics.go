package clicks

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/redirect/internal/journal"
)

// collector shows the journal's counts, all of one moment: accepted is produced,
// dropped and waiting together in every scrape. They are counts from the journal's
// birth, so they do not start at nought with the process, and the books of a fleet
// can be compared after edges were killed.
type collector struct {
	log                           *Log
	accepted, produced, dropped   *prometheus.Desc
	journalBytes, waiting, oldest *prometheus.Desc
}

func newCollector(l *Log) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &collector{
		log:          l,
		accepted:     desc("clicks_accepted_total", "Redirects that were answered to visitors and are to be counted, since the journal's birth."),
		produced:     desc("clicks_produced_total", "Clicks in transactions that the broker has committed, since the journal's birth."),
		dropped:      desc("clicks_dropped_total", "Clicks that were lost, since the journal's birth: the journal's bound was reached, the disk gave it no room, or gave back something else.", "reason"),
		journalBytes: desc("clicks_journal_bytes", "What the clicks that wait for the broker take in the journal."),
		waiting:      desc("clicks_journal_clicks", "Clicks that wait for the broker."),
		oldest:       desc("clicks_journal_oldest_seconds", "Age of the oldest click that waits for the broker."),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.accepted, c.produced, c.dropped, c.journalBytes, c.waiting, c.oldest} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	var s journal.Stats
	if j := c.log.journal.Load(); j != nil {
		s = j.Stats()
	}
	refused := c.log.refused.Load()
	var age float64
	if s.Waiting > 0 && !s.Oldest.IsZero() {
		age = time.Since(s.Oldest).Seconds()
	}
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	counter(c.accepted, s.Accepted+refused)
	counter(c.produced, s.Produced)
	counter(c.dropped, s.Full, "journal_full")
	counter(c.dropped, s.Disk+refused, "journal_disk")
	counter(c.dropped, s.Damaged, "journal_damaged")
	ch <- prometheus.MustNewConstMetric(c.journalBytes, prometheus.GaugeValue, float64(s.Bytes))
	ch <- prometheus.MustNewConstMetric(c.waiting, prometheus.GaugeValue, float64(s.Waiting))
	ch <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, age)
}
