// Package trace follows some changes of links through the processes, from the API over
// the outbox and the changelog into a region's Redis, and some visits from the edge into
// Redis and to the origin. Spans go to an OpenTelemetry
// collector as OTLP over HTTP, in JSON, which needs no library: the exporters that there
// are would be a third of a program.
//
// It promises to cost nothing where it is off, which is the default: the methods of a nil
// Tracer and a nil Span do nothing and allocate nothing. It promises never to hold up what
// it follows: a full queue drops spans, and counts them. It refuses to carry anything of
// the request but ids and what the code names: no headers, no bodies, no addresses.
package trace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	mathrand "math/rand/v2"
	"time"
)

// Header is the name of the record header that carries a Context, as W3C's Trace Context
// has it.
const Header = "traceparent"

// Context is where in a trace something happens. The zero Context is in none.
type Context struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool
}

// ErrContext says that a text is no traceparent.
var ErrContext = errors.New("not a traceparent")

// IsZero says that nothing is traced.
func (c Context) IsZero() bool { return c.Trace == [16]byte{} }

// String is the Context as a traceparent, and empty for the zero Context.
func (c Context) String() string {
	if c.IsZero() {
		return ""
	}
	flags := "-00"
	if c.Sampled {
		flags = "-01"
	}
	return "00-" + hex.EncodeToString(c.Trace[:]) + "-" + hex.EncodeToString(c.Span[:]) + flags
}

// Parse reads a traceparent of any version that begins as version 00 does.
func Parse(text string) (Context, error) {
	const whole = len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if len(text) < whole || text[2] != '-' || text[35] != '-' || text[52] != '-' || text[:2] == "ff" {
		return Context{}, ErrContext
	}
	if len(text) > whole && (text[:2] == "00" || text[whole] != '-') {
		return Context{}, ErrContext
	}
	var c Context
	var version, flags [1]byte
	if !unhex(version[:], text[:2]) || !unhex(c.Trace[:], text[3:35]) || !unhex(c.Span[:], text[36:52]) || !unhex(flags[:], text[53:whole]) {
		return Context{}, ErrContext
	}
	if c.IsZero() || c.Span == [8]byte{} {
		return Context{}, ErrContext
	}
	c.Sampled = flags[0]&1 == 1
	return c, nil
}

// unhex reads lower-case hex, of twice the length of what it is written to.
func unhex(to []byte, text string) bool {
	for i := range text {
		if c := text[i]; 'A' <= c && c <= 'F' {
			return false
		}
	}
	_, err := hex.Decode(to, []byte(text))
	return err == nil
}

type key struct{}

// Into returns a ctx that says where in a trace it is.
func Into(ctx context.Context, c Context) context.Context {
	if c.IsZero() {
		return ctx
	}
	return context.WithValue(ctx, key{}, c)
}

// From says where in a trace ctx is.
func From(ctx context.Context) Context {
	c, _ := ctx.Value(key{}).(Context)
	return c
}

// Kind is what a span does in the conversation, by OTLP's numbers.
type Kind int

// The kinds in use.
const (
	Server   Kind = 2
	Client   Kind = 3
	Producer Kind = 4
	Consumer Kind = 5
)

// Span is something that takes time. It belongs to one goroutine.
type Span struct {
	tracer     *Tracer
	here       Context
	parent     [8]byte
	name       string
	kind       Kind
	begun      time.Time
	attributes []attribute
}

type attribute struct{ key, value string }

// Begin begins a trace, or goes on with the caller's, for the tracer's share of calls. It
// returns nil for the others: whether to follow is decided here, once for all processes.
func (t *Tracer) Begin(parent Context, name string, kind Kind) *Span {
	if t == nil || mathrand.Float64() >= t.share {
		return nil
	}
	if parent.IsZero() {
		parent = begin()
	}
	parent.Sampled = true
	return t.span(parent, name, kind)
}

// begin is where a new trace begins.
func begin() Context {
	c := Context{Sampled: true}
	_, _ = rand.Read(c.Trace[:]) // never fails
	return c
}

// Follow goes on with a trace that is followed, and returns nil for others.
func (t *Tracer) Follow(parent Context, name string, kind Kind) *Span {
	if t == nil || !parent.Sampled || parent.IsZero() {
		return nil
	}
	return t.span(parent, name, kind)
}

func (t *Tracer) span(parent Context, name string, kind Kind) *Span {
	s := &Span{tracer: t, here: parent, parent: parent.Span, name: name, kind: kind, begun: time.Now()}
	_, _ = rand.Read(s.here.Span[:])
	return s
}

// Context is where in its trace the span is; children begin from there.
func (s *Span) Context() Context {
	if s == nil {
		return Context{}
	}
	return s.here
}

// Set says something about the span.
func (s *Span) Set(key, value string) {
	if s != nil {
		s.attributes = append(s.attributes, attribute{key, value})
	}
}

// End ends the span; failed says whether what it did went wrong. Nothing may be done with
// it afterwards.
func (s *Span) End(failed bool) {
	if s != nil {
		s.tracer.take(ended{*s, time.Now(), failed})
	}
}

type ended struct {
	Span
	at     time.Time
	failed bool
}
