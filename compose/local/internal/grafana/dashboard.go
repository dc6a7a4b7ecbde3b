package grafana

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Unit of a panel's values, by Grafana's identifiers.
type Unit string

// The units in use.
const (
	Count     Unit = "short"
	PerSecond Unit = "reqps"
	Share     Unit = "percentunit"
	Seconds   Unit = "s"
	Bytes     Unit = "bytes"
)

// Query is one PromQL expression and how its series are called.
type Query struct {
	Expr   string
	Legend string
}

// Panel is a picture of some series over time.
type Panel struct {
	Title string
	// About says what the numbers mean and when to worry.
	About   string
	Unit    Unit
	Limit   float64 // a line where the promise or the alert is; 0 for none
	Stacked bool
	Queries []Query
}

// Row is a titled group of panels.
type Row struct {
	Title  string
	Panels []Panel
}

// Variable is something to choose at the top, from a metric's label.
type Variable struct {
	Name   string
	Label  string
	Metric string // whose label of that name are the choices
}

// Dashboard is a page.
type Dashboard struct {
	UID       string // also the file's name
	Title     string
	About     string
	Variables []Variable
	Rows      []Row
}

const (
	width  = 24 // of Grafana's grid
	across = 3  // panels in a line
	height = 8
)

// JSON renders the dashboard for provisioning.
func (d Dashboard) JSON() ([]byte, error) {
	type object = map[string]any
	source := object{"type": "prometheus", "uid": "prometheus"}
	var panels []object
	y := 0
	for _, row := range d.Rows {
		panels = append(panels, object{
			"type": "row", "title": row.Title, "collapsed": false, "id": len(panels) + 1,
			"gridPos": object{"x": 0, "y": y, "w": width, "h": 1},
		})
		y++
		for i, p := range row.Panels {
			var targets []object
			for n, q := range p.Queries {
				targets = append(targets, object{"refId": string(rune('A' + n)), "datasource": source, "expr": q.Expr, "legendFormat": q.Legend})
			}
			custom := object{"lineWidth": 1, "fillOpacity": 8, "showPoints": "never", "spanNulls": false}
			if p.Stacked {
				custom["stacking"], custom["fillOpacity"] = object{"mode": "normal"}, 40
			}
			steps := []object{{"color": "green", "value": nil}}
			if p.Limit != 0 {
				steps = append(steps, object{"color": "red", "value": p.Limit})
				custom["thresholdsStyle"] = object{"mode": "line"}
			}
			panels = append(panels, object{
				"type": "timeseries", "title": p.Title, "description": p.About, "id": len(panels) + 1, "datasource": source,
				"gridPos": object{"x": i % across * (width / across), "y": y + i/across*height, "w": width / across, "h": height},
				"targets": targets,
				"fieldConfig": object{
					"defaults":  object{"unit": p.Unit, "min": 0, "custom": custom, "thresholds": object{"mode": "absolute", "steps": steps}},
					"overrides": []any{},
				},
				"options": object{
					"legend":  object{"displayMode": "list", "placement": "bottom", "showLegend": true},
					"tooltip": object{"mode": "multi", "sort": "desc"},
				},
			})
		}
		y += (len(row.Panels) + across - 1) / across * height
	}
	var variables []object
	for _, v := range d.Variables {
		variables = append(variables, object{
			"type": "query", "name": v.Name, "label": v.Label, "datasource": source, "refresh": 2, "sort": 1,
			"query":      fmt.Sprintf("label_values(%s, %s)", v.Metric, v.Name),
			"includeAll": true, "multi": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"},
		})
	}
	text, err := json.MarshalIndent(object{
		"uid": d.UID, "title": d.Title, "description": d.About, "tags": []string{"linkstream"}, "schemaVersion": 39, "version": 1,
		"editable": false, "graphTooltip": 1, "refresh": "10s", "timezone": "browser",
		"time": object{"from": "now-1h", "to": "now"}, "templating": object{"list": variables}, "panels": panels,
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("rendering the dashboard %s: %w", d.UID, err)
	}
	return append(text, '\n'), nil
}

// All are the dashboards.
func All() []Dashboard { return []Dashboard{Region(), Process()} }

// Write writes every dashboard into folder, as UID.json.
func Write(folder string) error {
	for _, d := range All() {
		text, err := d.JSON()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, d.UID+".json"), text, 0o644); err != nil {
			return fmt.Errorf("writing a dashboard: %w", err)
		}
	}
	return nil
}
