package api_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/services/internal/qrcode"
)

// fetch returns an answer that is no JSON.
func (s *service) fetch(t *testing.T, path, key string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

func TestTheQRCodeOfALink(t *testing.T) {
	t.Parallel()
	s := newService(t)
	path := "/v1/links/" + s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1", "slug": "spring/❤"}`).ID + "/qr"
	get := func(query, contentType string) []byte {
		t.Helper()
		w := s.fetch(t, path+query, s.key)
		if w.Code != 200 || w.Header().Get("Content-Type") != contentType || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Fatalf("%.100s gives %d %v %.300s", query, w.Code, w.Header(), w.Body.String())
		}
		return w.Body.Bytes()
	}
	draw := func(o qrcode.Options) []byte {
		t.Helper()
		drawn, err := o.Draw("https://go.test/spring/%E2%9D%A4?qr")
		if err != nil {
			t.Fatal(err)
		}
		return drawn
	}
	if got := get("", "image/svg+xml"); !bytes.Equal(got, draw(qrcode.Default(qrcode.SVG))) {
		t.Errorf("got %s", got)
	}
	want := qrcode.Default(qrcode.PNG)
	want.Size, want.Margin, want.Level, want.Color = 300, 0, qrcode.Quartile, qrcode.Color{0, 0, 0x99}
	if got := get("?format=png&size=300&margin=0&level=Q&color=009", "image/png"); !bytes.Equal(got, draw(want)) {
		t.Error("the parameters are not those of the picture")
	}
	var logo bytes.Buffer
	if err := png.Encode(&logo, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	withLogo := get("?format=png&logo="+url.QueryEscape("data:image/png;base64,"+base64.StdEncoding.EncodeToString(logo.Bytes())), "image/png")
	if bytes.Equal(withLogo, get("?format=png&level=H", "image/png")) {
		t.Error("the logo is not drawn")
	}

	refuse := func(query string, status int, wrong string) {
		t.Helper()
		if a := s.send(t, "GET", path+query, ""); a.status != status || a.wrong() != wrong || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s gives %d %s, want %s", query, a.status, a.raw, wrong)
		}
	}
	refuse("?format=gif", 422, "query.format:invalid")
	refuse("?size=2049", 422, "query.size:invalid")
	refuse("?size=big", 422, "query.size:invalid")
	refuse("?format=png&size=64&level=H", 422, "query.size:invalid")
	refuse("?margin=-1&level=X", 422, "query.margin:invalid query.level:invalid")
	refuse("?color=eee", 422, "query.color:low_contrast")
	refuse("?logo=x&level=L", 422, "query.logo:invalid query.level:not_allowed")
	refuse("?size=300&size=400", 422, "query.size:repeated")
	refuse("?shape=round", 422, "query.shape:unknown")
	// With a body, for logos that no address takes.
	noise := image.NewRGBA(image.Rect(0, 0, 120, 120))
	rand.NewChaCha8([32]byte{1}).Read(noise.Pix) //nolint:errcheck // it never fails
	logo.Reset()
	if err := png.Encode(&logo, noise); err != nil || logo.Len() < 48<<10 || logo.Len() > qrcode.MaxLogoBytes {
		t.Fatalf("the logo has %d bytes, %v", logo.Len(), err)
	}
	draws := func(text string) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(text))
		r.Header.Set("Authorization", "Bearer "+s.key)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		return w
	}
	w := draws(`{"format": "png", "size": 300, "logo": "data:image/png;base64,` + base64.StdEncoding.EncodeToString(logo.Bytes()) + `"}`)
	if w.Code != 200 || w.Header().Get("Content-Type") != "image/png" {
		t.Errorf("got %d %.300s", w.Code, w.Body.String())
	}
	if w = draws(`{}`); w.Code != 200 || !bytes.Equal(w.Body.Bytes(), draw(qrcode.Default(qrcode.SVG))) {
		t.Errorf("got %d %.300s", w.Code, w.Body.String())
	}
	if a := s.send(t, "POST", path, `{"size": 63, "color": "red", "shape": "round"}`); a.status != 422 || a.wrong() != "size:invalid shape:unknown" {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	if a := s.send(t, "POST", path, `{"color": "red", "format": "png", "size": 64, "level": "H"}`); a.status != 422 || a.wrong() != "color:invalid" {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	if a := s.send(t, "POST", path, `{"format": "png", "size": 64, "level": "H"}`); a.status != 422 || a.wrong() != "size:invalid" {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	path = "/v1/links/x/qr"
	refuse("", 404, "")
	if w := s.fetch(t, "/v1/links/01890a5d-ac96-774b-bcce-b302099a8057/qr", s.key); w.Code != 404 {
		t.Errorf("a link that is not there gives %d", w.Code)
	}
}
