package idempotency

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

type humaContext = huma.Context

// captured is the context of an operation whose body was read already, and whose
// answer is kept instead of sent.
type captured struct {
	humaContext
	body io.Reader

	status  int
	header  http.Header
	written bytes.Buffer
	err     error
}

// BodyReader implements huma.Context.
func (c *captured) BodyReader() io.Reader { return c.body }

// SetStatus implements huma.Context.
func (c *captured) SetStatus(status int) {
	c.status = status
}

// Status implements huma.Context.
func (c *captured) Status() int { return c.status }

// SetHeader implements huma.Context.
func (c *captured) SetHeader(name, value string) {
	c.header.Set(name, value)
}

// AppendHeader implements huma.Context.
func (c *captured) AppendHeader(name, value string) {
	c.header.Add(name, value)
}

// BodyWriter implements huma.Context.
func (c *captured) BodyWriter() io.Writer {
	return &c.written
}

func (c *captured) send(ctx huma.Context) {
	for _, name := range slices.Sorted(maps.Keys(c.header)) {
		for i, value := range c.header[name] {
			if i == 0 {
				ctx.SetHeader(name, value)
				continue
			}
			ctx.AppendHeader(name, value)
		}
	}
	ctx.SetStatus(c.status)
	_, _ = ctx.BodyWriter().Write(c.written.Bytes()) // the client is gone: nobody to tell
}
