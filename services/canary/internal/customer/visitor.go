package customer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Visitor asks one edge, or what stands in front of a region's edges.
type Visitor struct {
	client *http.Client
	edge   string
	name   string
	domain string
}

// NewVisitor returns a visitor of the domain's links at the address edge.
func NewVisitor(client *http.Client, edge, domain string) (*Visitor, error) {
	u, err := url.Parse(edge)
	if err != nil {
		return nil, fmt.Errorf("reading an edge's address: %w", err)
	}
	alone := *client
	alone.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Visitor{client: &alone, edge: strings.TrimSuffix(edge, "/"), name: u.Host, domain: domain}, nil
}

// Name is the edge's host and port, for labels and logs.
func (v *Visitor) Name() string { return v.name }

// Follow visits the link, which is a click, and returns where it leads.
func (v *Visitor) Follow(ctx context.Context, slug string) (string, error) {
	status, location, err := v.ask(ctx, http.MethodGet, slug)
	if err == nil && status != http.StatusFound {
		err = StatusError{Status: status}
	}
	return location, err
}

// Peek says where the link leads without visiting it: HEAD is no click. gone says that
// there is no such link.
func (v *Visitor) Peek(ctx context.Context, slug string) (location string, gone bool, err error) {
	status, location, err := v.ask(ctx, http.MethodHead, slug)
	switch {
	case err != nil:
		return "", false, err
	case status == http.StatusFound:
		return location, false, nil
	case status == http.StatusNotFound || status == http.StatusGone:
		return "", true, nil
	default:
		return "", false, StatusError{Status: status}
	}
}

func (v *Visitor) ask(ctx context.Context, method, slug string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, v.edge+"/"+url.PathEscape(slug), http.NoBody)
	if err != nil {
		return 0, "", fmt.Errorf("making the request: %w", err)
	}
	request.Host = v.domain
	request.Header.Set("User-Agent", Agent)
	response, err := v.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, most)); err != nil {
		return 0, "", fmt.Errorf("reading the answer: %w", err)
	}
	return response.StatusCode, response.Header.Get("Location"), nil
}
