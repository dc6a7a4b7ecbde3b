package stack

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// redisLimit is for one command.
const redisLimit = 5 * time.Second

// Redis sends one inline command to a Redis and returns the answer's first line, or
// what a bulk string holds. An error of Redis is one here, too.
func Redis(ctx context.Context, addr, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, redisLimit)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("connecting to Redis: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return "", fmt.Errorf("connecting to Redis: %w", err)
		}
	}
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		return "", fmt.Errorf("asking Redis: %w", err)
	}
	answers := bufio.NewReader(conn)
	line, err := answers.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("asking Redis: %w", err)
	}
	line = strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, "-"):
		return "", fmt.Errorf("asking Redis: %s", line[1:])
	case !strings.HasPrefix(line, "$"):
		return line, nil
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || n < 0 {
		return "", err
	}
	body := make([]byte, n)
	_, err = io.ReadFull(answers, body)
	return string(body), err
}
