// Package metric reads the metrics that a process shows, in Prometheus' text form.
// It knows samples by their name and labels as they are written; it refuses a line
// that has no value.
package metric

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Samples are values by name and labels, as they are written.
type Samples map[string]float64

// Since is how much a counter has grown.
func (s Samples) Since(earlier Samples, name string) float64 { return s[name] - earlier[name] }

// Sum is that of all samples with a name, whatever their labels.
func (s Samples) Sum(name string) (sum float64) {
	for key, value := range s {
		if rest, ok := strings.CutPrefix(key, name); ok && (rest == "" || rest[0] == '{') {
			sum += value
		}
	}
	return sum
}

// Parse reads a page of metrics.
func Parse(text []byte) (Samples, error) {
	s := Samples{}
	for line := range bytes.Lines(text) {
		line := strings.TrimSpace(string(line))
		if line == "" || line[0] == '#' {
			continue
		}
		space := strings.LastIndexByte(line, ' ')
		if space < 0 {
			return nil, fmt.Errorf("reading metrics: %q has no value", line)
		}
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("reading metrics: %w", err)
		}
		s[line[:space]] = value
	}
	return s, nil
}

// Get asks an admin listener, given as http://host:port.
func Get(ctx context.Context, admin string) (Samples, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, admin+"/metrics", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("reading metrics: %s: status %d", admin, answer.StatusCode)
	}
	return Parse(text)
}
