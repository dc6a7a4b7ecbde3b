package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestReadySaysWhatTheProcessSays(t *testing.T) {
	check := func(status int, body, wantErr string) {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" {
				t.Errorf("it asks for %s", r.URL.Path)
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		defer server.Close()
		_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
		var out strings.Builder
		err := run(t.Context(), "0.0.0.0:"+port, &out) // as a container has it
		if out.String() != body || (err == nil) != (wantErr == "") || err != nil && !strings.Contains(err.Error(), wantErr) {
			t.Errorf("%d: %q, %v; want %q, %q", status, out.String(), err, body, wantErr)
		}
	}
	check(http.StatusOK, "ready\n", "")
	check(http.StatusServiceUnavailable, "broker: away\n", "503")
	check(http.StatusNotFound, "", "404")
}

func TestReadyNamesWhatItLacks(t *testing.T) {
	check := func(address, want string) {
		t.Helper()
		var out strings.Builder
		if err := run(t.Context(), address, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", address, err, want)
		}
	}
	check("", "LINKSTREAM_ADMIN_ADDR")
	check("127.0.0.1", "LINKSTREAM_ADMIN_ADDR")
	check("127.0.0.1:1", "refused")
}
