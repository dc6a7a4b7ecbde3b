package apidoc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/linkstream/linkstream/services/internal/httpapi"
)

const (
	// keepFor bounds how long a deployment of a service may not show yet.
	keepFor = 30 * time.Second

	// forgetFor is how long a failure is the answer: while a service hangs, readers
	// must not queue up for a time-out each.
	forgetFor = time.Second

	// fetchTimeout bounds all parts together.
	fetchTimeout = 3 * time.Second
	maxPartBytes = 8 << 20
)

// Source is the merged document of running services.
type Source struct {
	urls   []string
	client *http.Client
	log    *slog.Logger

	// mu is held while fetching, so that a crowd of readers asks each service once.
	mu    sync.Mutex
	doc   []byte
	err   error
	until time.Time
}

// NewSource reads the parts from the given addresses, for instance
// http://127.0.0.1:8010/openapi.json.
func NewSource(log *slog.Logger, urls ...string) *Source {
	// No Proxy: the services are on private addresses.
	return &Source{urls: urls, client: &http.Client{Transport: &http.Transport{}}, log: log}
}

// ServeJSON answers with the document, or a 503 problem when a part is away.
func (s *Source) ServeJSON(w http.ResponseWriter, r *http.Request) {
	doc, err := s.document(r.Context())
	if err != nil {
		s.log.ErrorContext(r.Context(), "API description not served", "request_id", httpapi.RequestID(r.Context()), "err", err)
		w.Header().Set("Retry-After", "1")
		httpapi.Write(r.Context(), w, httpapi.NewProblem(http.StatusServiceUnavailable, "unavailable", "A part of the API description is missing right now. Try again in a moment."))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(doc) // the client is gone: nobody to tell
}

func (s *Source) document(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.until) {
		return s.doc, s.err
	}
	// For all who wait: the first of them may go away.
	s.doc, s.err = s.merge(context.WithoutCancel(ctx))
	s.until = time.Now().Add(keepFor)
	if s.err != nil {
		s.until = time.Now().Add(forgetFor)
	}
	return s.doc, s.err
}

func (s *Source) merge(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	parts := make([][]byte, 0, len(s.urls))
	for _, url := range s.urls {
		part, err := s.fetch(ctx, url)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	doc, err := Merge(parts...)
	if err != nil {
		return nil, fmt.Errorf("merging the API descriptions: %w", err)
	}
	return doc, nil
}

func (s *Source) fetch(ctx context.Context, url string) (part []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", url, err)
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking for an API description: %w", err)
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", url, answer.Status)
	}
	part, err = io.ReadAll(io.LimitReader(answer.Body, maxPartBytes))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", url, err)
	}
	return part, nil
}
