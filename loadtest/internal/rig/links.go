package rig

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

// record is the value of a link in Redis, as the contract of the regional cache
// says.
type record struct {
	Destination string `json:"d"`
	Flags       uint16 `json:"f"`
	Version     uint64 `json:"v"`
	Revision    uint64 `json:"r"`
	LinkID      string `json:"i"`
	WorkspaceID string `json:"w"`
}

const (
	workspaceID = "01890a5d-ac96-774b-bcce-b302099a8058"
	recordTTL   = 24 * time.Hour
	// seedBatch is how many records are written before the answers are read.
	seedBatch = 1000
	// creators is how many links are created at a time.
	creators = 8
)

// appendRecord appends the value of the link number n.
func appendRecord(dst []byte, n int) ([]byte, error) {
	value, err := json.Marshal(record{
		Destination: wire.Target(wire.Slug(n)), Version: 1, Revision: uint64(n) + 1,
		LinkID: fmt.Sprintf("01890a5d-ac96-774b-bcce-%012x", n), WorkspaceID: workspaceID,
	})
	if err != nil {
		return dst, fmt.Errorf("encoding a record: %w", err)
	}
	return append(dst, value...), nil
}

func recordKey(n int) string { return "redirect:" + Domain + ":" + wire.Slug(n) }

// Seed writes the links from number from up to but not to into Redis. Postgres does
// not know them: as long as Redis has them, nobody asks.
func (r *Rig) Seed(ctx context.Context, from, to int) error {
	var value []byte
	return r.redis(ctx, to-from, func(i int, dst []byte) ([]byte, error) {
		var err error
		if value, err = appendRecord(value[:0], from+i); err != nil {
			return dst, err
		}
		return appendCommand(dst, "SET", recordKey(from+i), string(value), "PX", strconv.FormatInt(recordTTL.Milliseconds(), 10)), nil
	})
}

// SeedOrigin creates links by the API, so that the origin knows them, and then
// takes them out of Redis, once cacheupdater has put them there.
func (r *Rig) SeedOrigin(ctx context.Context, from, to int) error {
	var (
		mu    sync.Mutex
		fault error
		next  = from
		wg    sync.WaitGroup
	)
	for range creators {
		wg.Go(func() {
			for {
				mu.Lock()
				n := next
				next++
				stop := fault != nil || n >= to
				mu.Unlock()
				if stop {
					return
				}
				if err := r.create(ctx, n); err != nil {
					mu.Lock()
					fault = err
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if fault != nil {
		return fault
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for n := from; n < to; {
		answer, err := r.redisLine(ctx, appendCommand(nil, "EXISTS", recordKey(n)))
		if err != nil {
			return err
		}
		if answer == ":1" {
			n++
			continue
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for created links in redis: %w", ctx.Err())
		case <-tick.C:
		}
	}
	return r.redis(ctx, to-from, func(i int, dst []byte) ([]byte, error) {
		return appendCommand(dst, "DEL", recordKey(from+i)), nil
	})
}

func (r *Rig) create(ctx context.Context, n int) error {
	body, err := json.Marshal(map[string]string{"slug": wire.Slug(n), "destination": wire.Target(wire.Slug(n))})
	if err != nil {
		return fmt.Errorf("encoding a link: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.addr(portLinks)+"/v1/links", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("building the request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+r.apiKey)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("creating a link: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("creating a link: status %d", answer.StatusCode)
	}
	return nil
}

// redis sends count commands, each of which has an answer of one line.
func (r *Rig) redis(ctx context.Context, count int, appendTo func(i int, dst []byte) ([]byte, error)) error {
	conn, err := r.dialRedis(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	answers := bufio.NewReader(conn)
	var out []byte
	for i := 0; i < count; {
		out = out[:0]
		sent := min(seedBatch, count-i)
		for range sent {
			if out, err = appendTo(i, out); err != nil {
				return err
			}
			i++
		}
		if _, err := conn.Write(out); err != nil {
			return fmt.Errorf("writing to redis: %w", err)
		}
		for range sent {
			if _, err := redisAnswer(answers); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Rig) redisLine(ctx context.Context, command []byte) (string, error) {
	conn, err := r.dialRedis(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(command); err != nil {
		return "", fmt.Errorf("writing to redis: %w", err)
	}
	return redisAnswer(bufio.NewReader(conn))
}

func (r *Rig) dialRedis(ctx context.Context) (net.Conn, error) {
	u, err := url.Parse(r.redisURL())
	if err != nil {
		return nil, fmt.Errorf("reading the address of redis: %w", err)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("connecting to redis: %w", err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("connecting to redis: %w", err)
		}
	}
	return conn, nil
}

func redisAnswer(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("reading from redis: %w", err)
	}
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "-") {
		return "", fmt.Errorf("redis refuses: %s", line[1:])
	}
	return line, nil
}

// appendCommand appends a command in Redis' protocol.
func appendCommand(dst []byte, words ...string) []byte {
	dst = append(append(append(dst, '*'), strconv.Itoa(len(words))...), "\r\n"...)
	for _, word := range words {
		dst = append(append(append(dst, '$'), strconv.Itoa(len(word))...), "\r\n"...)
		dst = append(append(dst, word...), "\r\n"...)
	}
	return dst
}
