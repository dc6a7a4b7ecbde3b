package deliver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	webhook "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/linkstream/linkstream/services/webhooks/internal/outbound"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

const (
	// maxRead bounds what of an answer is read, so that the connection may be used again;
	// beyond it the connection is closed.
	maxRead = 64 << 10
	// maxKept bounds what of it is kept for the log.
	maxKept = 1 << 10
)

const userAgent = "linkstream-webhooks/1 (+https://www.standardwebhooks.com)"

// sent is an attempt, and how long the endpoint asked us to wait.
type sent struct {
	postgres.Attempt
	retryAfter time.Duration // 0 when it did not say
}

// send makes one attempt. Whatever goes wrong is in the attempt.
func send(ctx context.Context, client *http.Client, d *postgres.Delivery, now time.Time) sent {
	s := sent{Attempt: postgres.Attempt{StartedAt: now}}
	began := time.Now()
	request, err := signed(ctx, d, now)
	if err != nil {
		s.Error = err.Error()
		return s
	}
	answer, err := client.Do(request)
	if err != nil {
		s.Took, s.Error = time.Since(began), reason(err)
		return s
	}
	defer func() { _ = answer.Body.Close() }() // read or not, it is over
	// The status is the answer; what comes behind it may be late or endless.
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxRead))
	s.Took, s.Status = time.Since(began), answer.StatusCode
	s.Response = storable(body[:min(len(body), maxKept)])
	s.retryAfter = retryAfter(answer.Header.Get("Retry-After"), now)
	return s
}

// signed is the request, with one signature for each secret.
func signed(ctx context.Context, d *postgres.Delivery, now time.Time) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, strings.NewReader(d.Payload))
	if err != nil {
		return nil, errors.New("the address cannot be read")
	}
	signatures := make([]string, 0, len(d.Secrets))
	for _, secret := range d.Secrets {
		w, err := webhook.NewWebhook(secret)
		if err != nil {
			return nil, errors.New("the secret cannot be read")
		}
		signature, err := w.Sign(d.EventID, now, []byte(d.Payload))
		if err != nil {
			return nil, fmt.Errorf("signing: %w", err)
		}
		signatures = append(signatures, signature)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set(webhook.HeaderWebhookID, d.EventID)
	request.Header.Set(webhook.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	request.Header.Set(webhook.HeaderWebhookSignature, strings.Join(signatures, " "))
	return request, nil
}

// reason says what went wrong in words for the endpoint's owner: nothing of our own
// network is in them.
func reason(err error) string {
	var (
		dns     *net.DNSError
		timeout net.Error
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		whole   *url.Error
	)
	switch {
	case errors.Is(err, outbound.ErrNotPublic):
		return "the name leads to an address that is not a public one"
	case errors.As(err, &dns):
		return "the name cannot be resolved"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.As(err, &unknown), errors.As(err, &cert):
		return "the certificate is not valid"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "it does not speak TLS"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection broke off"
	case errors.Is(err, context.Canceled):
		return "the service was stopped"
	case errors.As(err, &whole) && strings.Contains(whole.Err.Error(), "exceeded"):
		return "the headers of the answer are too large"
	default:
		return "the connection failed"
	}
}

// storable is a text that Postgres takes.
func storable(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD")
}

// retryAfter reads seconds or a date; 0 when there is neither.
func retryAfter(header string, now time.Time) time.Duration {
	const longest = 7 * 24 * 60 * 60
	if seconds, err := strconv.ParseUint(header, 10, 64); err == nil {
		return time.Duration(min(seconds, longest)) * time.Second //nolint:gosec // bounded
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
