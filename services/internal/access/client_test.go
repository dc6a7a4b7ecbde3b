package access_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/rpc/accessv1"
	"github.com/linkstream/linkstream/services/internal/rpc/accessv1/accessv1connect"
)

// links is the other side of the RPC: one token, which can be revoked.
type links struct {
	accessv1connect.UnimplementedAccessServiceHandler
	asked   atomic.Int64
	revoked atomic.Bool
	// capacity of the token's own limit, which fills in 20 seconds; 0 for none.
	capacity atomic.Int32
}

var workspace = uuid.MustParse("01a22bda-e2d3-7cc9-836b-3e71dca00ea4")

func (l *links) Authenticate(_ context.Context, in *accessv1.AuthenticateRequest) (*accessv1.AuthenticateResponse, error) {
	l.asked.Add(1)
	if in.GetToken() != "ls_key_good" || l.revoked.Load() {
		return nil, connect.NewError(connect.CodeUnauthenticated, "no")
	}
	return &accessv1.AuthenticateResponse{
		WorkspaceId: workspace[:], SubjectId: workspace[:], Scopes: []string{"links:read"},
		RateCapacity: l.capacity.Load(), RateRefillPerSecond: float64(l.capacity.Load()) / 20,
	}, nil
}

func (l *links) LogOut(context.Context, *accessv1.LogOutRequest) (*accessv1.LogOutResponse, error) {
	l.revoked.Store(true)
	return &accessv1.LogOutResponse{}, nil
}

func serve(t *testing.T) (*links, *httptest.Server) {
	t.Helper()
	l := &links{}
	rpc := connect.NewServer()
	accessv1connect.RegisterAccessServiceHandler(rpc, l)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, rpc)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return l, server
}

func TestAnAnswerIsRememberedAndARevocationNoticedWithinASecond(t *testing.T) {
	l, server := serve(t)
	client := access.NewClient(server.URL)
	for range 50 {
		id, err := client.Authenticate(t.Context(), "ls_key_good")
		if err != nil || id.WorkspaceID != workspace || !id.May(access.LinksRead) || id.May(access.LinksWrite) {
			t.Fatalf("%+v, %v", id, err)
		}
	}
	if asked := l.asked.Load(); asked > 5 { // once, and again only where the test was slower than the cache's time
		t.Errorf("asked %d times for 50 requests", asked)
	}
	l.revoked.Store(true)
	began := time.Now()
	facttest.Eventually(t, "the token is refused", func() bool {
		_, err := client.Authenticate(t.Context(), "ls_key_good")
		return errors.Is(err, access.ErrUnauthenticated)
	})
	if took := time.Since(began); took > access.CacheTTL+time.Second {
		t.Errorf("noticed after %v", took)
	}
}

func TestAKeysOwnLimitComesAlongAndChangesWithinASecond(t *testing.T) {
	l, server := serve(t)
	client := access.NewClient(server.URL)
	if id, err := client.Authenticate(t.Context(), "ls_key_good"); err != nil || id.RateCapacity != 0 || id.RateRefillPerSecond != 0 {
		t.Fatalf("%+v, %v; want no limit", id, err)
	}
	l.capacity.Store(10)
	began := time.Now()
	facttest.Eventually(t, "the limit is known", func() bool {
		id, err := client.Authenticate(t.Context(), "ls_key_good")
		return err == nil && id.RateCapacity == 10 && id.RateRefillPerSecond == 0.5
	})
	if took := time.Since(began); took > access.CacheTTL+time.Second {
		t.Errorf("known after %v", took)
	}
}

func TestARefusalIsNotRemembered(t *testing.T) {
	l, server := serve(t)
	client := access.NewClient(server.URL)
	l.revoked.Store(true)
	if _, err := client.Authenticate(t.Context(), "ls_key_good"); !errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("got %v", err)
	}
	l.revoked.Store(false)
	if _, err := client.Authenticate(t.Context(), "ls_key_good"); err != nil {
		t.Errorf("a key that was just made is refused: %v", err)
	}
}

func TestLoggingOutForgetsTheToken(t *testing.T) {
	_, server := serve(t)
	client := access.NewClient(server.URL)
	if _, err := client.Authenticate(t.Context(), "ls_key_good"); err != nil {
		t.Fatal(err)
	}
	if err := client.LogOut(t.Context(), "ls_key_good"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Authenticate(t.Context(), "ls_key_good"); !errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("got %v", err)
	}
}

func TestNobodyToAskIsNeverAccess(t *testing.T) {
	_, server := serve(t)
	client := access.NewClient(server.URL)
	server.Close()
	if _, err := client.Authenticate(t.Context(), "ls_key_good"); !errors.Is(err, access.ErrUnavailable) || errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsRememberedWhereTokensLive(t *testing.T) {
	asked := map[string]int{}
	remembering := access.Remember(authenticator(func(token string) (*access.Identity, error) {
		asked[token]++
		if token == "ls_key_bad" {
			return nil, access.ErrUnauthenticated
		}
		return &access.Identity{WorkspaceID: workspace}, nil
	}), func(token string) bool { return token != "ls_ses_good" })
	for range 3 {
		for _, token := range []string{"ls_key_good", "ls_key_bad", "ls_ses_good"} {
			id, err := remembering.Authenticate(t.Context(), token)
			if (err == nil) != (token != "ls_key_bad") || err == nil && id.WorkspaceID != workspace {
				t.Errorf("%s gives %+v, %v", token, id, err)
			}
		}
	}
	// A key is asked for again when its time is over, which may be in the middle of this test.
	if asked["ls_key_good"] > 2 || asked["ls_key_bad"] != 3 || asked["ls_ses_good"] != 3 {
		t.Errorf("asked: %v", asked)
	}
}

type authenticator func(token string) (*access.Identity, error)

func (a authenticator) Authenticate(_ context.Context, token string) (*access.Identity, error) {
	return a(token)
}
