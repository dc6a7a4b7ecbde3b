// Package readiness asks processes whether they can do their job, each in its own protocol.
//
// A probe promises one honest attempt: it returns nil only after the process really answered. It never retries and
// never waits beyond its context; waiting is the caller's.
package readiness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Probe tells whether a process is ready; the error says what is missing.
type Probe func(ctx context.Context) error

// maxReason is how much of a refusal is repeated to the reader of the terminal.
const maxReason = 300

// HTTP expects status 200 from url, as /readyz and ClickHouse's /ping give it. A refusal's body is the reason.
func HTTP(url string) Probe {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("asking %s: %w", url, err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return shorten(err)
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode == http.StatusOK {
			return nil
		}
		reason, _ := io.ReadAll(io.LimitReader(response.Body, maxReason)) // the status alone is reason enough
		return fmt.Errorf("%s: %s", response.Status, strings.Join(strings.Fields(string(reason)), " "))
	}
}

// Postgres expects a connection and an answered query.
func Postgres(url string) Probe {
	return func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return shorten(err)
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		return conn.Ping(ctx)
	}
}

// Redis expects PONG. While Redis loads its data it answers with an error, which is the reason given.
func Redis(addr string) Probe {
	return func(ctx context.Context) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if err != nil {
			return shorten(err)
		}
		defer func() { _ = conn.Close() }()
		if deadline, ok := ctx.Deadline(); ok {
			if err := conn.SetDeadline(deadline); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
			return err
		}
		answer, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			return err
		}
		if answer = strings.TrimSpace(answer); answer != "+PONG" {
			return fmt.Errorf("answered %q", answer)
		}
		return nil
	}
}

// Kafka expects an answer to a metadata request.
func Kafka(addr string) Probe {
	return func(ctx context.Context) error {
		// One attempt: without a bound the client tries again for as long as the context lives.
		client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RequestRetries(0), kgo.DialTimeout(time.Second))
		if err != nil {
			return err
		}
		defer client.Close()
		_, err = kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
		return shorten(err)
	}
}

// shorten drops what a dial error repeats: the address is known to whoever asked.
func shorten(err error) error {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return dial.Err
	}
	return err
}
