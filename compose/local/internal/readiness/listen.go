package readiness

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// ListenLoopback listens on a loopback address, and refuses any other: the local stack's stores know no passwords.
func ListenLoopback(ctx context.Context, addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("reading the address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("address %q is not a loopback address: this process must not be reachable from elsewhere", addr)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	return listener, nil
}

// WriteFile writes a process's ready file: its address and a line end, all at once, so that a reader never sees half
// of it. No path, no file.
func WriteFile(path, addr string) error {
	if path == "" {
		return nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".ready-*")
	if err != nil {
		return fmt.Errorf("writing the ready file: %w", err)
	}
	_, err = temporary.WriteString(addr + "\n")
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return fmt.Errorf("writing the ready file: %w", err)
	}
	return nil
}
