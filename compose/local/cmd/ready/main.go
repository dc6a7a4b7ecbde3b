// Command ready asks a process's admin listener whether the process is ready, for the
// health check of a container without a shell. The listener is LINKSTREAM_ADMIN_ADDR, as
// the process itself has it, on the loopback address. It prints what /readyz says and
// exits with 1 when that is anything but 200.
//
// It promises to be small: no HTTP library, because every image carries it.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// patience covers the two seconds that /readyz gives its own checks.
const patience = 3 * time.Second

// most is how much of an answer is read.
const most = 1 << 14

func main() {
	if err := run(context.Background(), os.Getenv("LINKSTREAM_ADMIN_ADDR"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ready:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string, stdout io.Writer) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("LINKSTREAM_ADMIN_ADDR must be the process's admin listener, host:port")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "GET /readyz HTTP/1.0\r\n\r\n"); err != nil {
		return fmt.Errorf("asking: %w", err)
	}
	answer := bufio.NewReader(io.LimitReader(conn, most))
	status, err := answer.ReadString('\n')
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	text, err := io.ReadAll(answer)
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if _, body, ok := strings.Cut(string(text), "\r\n\r\n"); ok {
		fmt.Fprint(stdout, body)
	}
	if fields := strings.Fields(status); len(fields) < 2 || fields[1] != "200" {
		return fmt.Errorf("it answers %q", strings.TrimSpace(status))
	}
	return nil
}
