// Package console prints what the local stack does, one line a step, for people at a terminal and for log files alike:
// no colours, no cursor movements.
package console

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Console writes whole lines, from any goroutine. That a line cannot be written is no reason to stop the stack, so
// such errors are dropped.
type Console struct {
	mu    sync.Mutex
	to    io.Writer
	start time.Time
}

// New returns a console whose clock starts now.
func New(to io.Writer) *Console { return &Console{to: to, start: time.Now()} }

// Step writes a line with the time since the start.
func (c *Console) Step(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = fmt.Fprintf(c.to, "%6.1fs  %s\n", time.Since(c.start).Seconds(), fmt.Sprintf(format, args...))
}

// Event writes a line with the time of day: for what happens while the stack is running.
func (c *Console) Event(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = fmt.Fprintf(c.to, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// Text writes a text as it is.
func (c *Console) Text(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.to, text)
}
