// Package grafana describes the dashboards of compose/grafana/dashboards and renders
// them as the JSON that Grafana provisions. It promises that every panel has a unit, a
// sentence that says what to make of it, and queries by which Prometheus can be asked;
// the whole-system tests ask a running stack whether what the queries name is exposed.
//
// It knows of Grafana only what these panels use, from the JSON that Grafana 11
// exports: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
package grafana
