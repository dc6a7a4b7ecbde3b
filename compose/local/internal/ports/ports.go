// Package ports tells, before anything is started, which TCP ports are taken and by whom.
//
// It promises that a port it calls free could be listened on a moment ago. It keeps no port reserved, and where the
// system does not tell who holds a port it says nothing rather than guess.
package ports

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// Use is a port on 127.0.0.1 and what needs it.
type Use struct {
	Port int
	For  string
}

// TakenError lists the ports that are not free.
type TakenError struct {
	Taken []Taken
}

// Taken is a port that is needed and not free.
type Taken struct {
	Use
	Holder string // the program and process id, or empty
}

// Error is one line for people.
func (e *TakenError) Error() string {
	parts := make([]string, 0, len(e.Taken))
	for _, t := range e.Taken {
		part := fmt.Sprintf("port %d, needed by %s, is in use", t.Port, t.For)
		if t.Holder != "" {
			part += " by " + t.Holder
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// Check tries to listen on each port. Taken ports are a *TakenError.
func Check(ctx context.Context, uses []Use) error {
	var taken []Taken
	for _, use := range uses {
		var config net.ListenConfig
		listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(use.Port)))
		if errors.Is(err, syscall.EADDRINUSE) {
			taken = append(taken, Taken{Use: use, Holder: holder(use.Port)})
			continue
		}
		if err != nil {
			return fmt.Errorf("trying port %d, needed by %s: %w", use.Port, use.For, err)
		}
		if err := listener.Close(); err != nil {
			return fmt.Errorf("giving port %d back: %w", use.Port, err)
		}
	}
	if len(taken) > 0 {
		return &TakenError{Taken: taken}
	}
	return nil
}
