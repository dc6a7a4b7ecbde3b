// Package webapp serves the built single-page app from memory.
//
// It promises that hashed assets may be kept by browsers for ever while the page
// that names them is always asked for again, that a path of the app's own router
// gets the page, and that what is not built says so instead of answering
// nothing. It refuses to touch the disk after start.
package webapp

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

const (
	index = "index.html"

	// assets is where the build puts files whose names hold a hash of their content.
	assets = "assets/"

	// gzipFrom is the size in bytes from which compression saves a packet.
	gzipFrom = 1400
)

// Handler serves the files of one build.
type Handler struct {
	files map[string]file
}

// file is one file, ready to be sent.
type file struct {
	plain       []byte
	compressed  []byte // nil when gzip does not make it smaller
	etag        string // without quotes
	contentType string
	cache       string
}

// New reads and compresses all files of dist. A build without index.html is no
// error: see Built.
func New(dist fs.FS) (*Handler, error) {
	h := &Handler{files: map[string]file{}}
	err := fs.WalkDir(dist, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		content, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		h.files[name], err = prepare(name, content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the web app: %w", err)
	}
	return h, nil
}

// Built says whether there is an app to serve.
func (h *Handler) Built() bool {
	_, ok := h.files[index]
	return ok
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "This address takes GET and HEAD.", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	f, ok := h.files[name]
	switch {
	case ok:
	case path.Ext(name) != "" || strings.HasPrefix(name, assets):
		// A missing asset must not be answered with the page: a browser would run HTML as script.
		http.Error(w, "There is no such file.", http.StatusNotFound)
		return
	default:
		if f, ok = h.files[index]; !ok {
			notBuilt(w)
			return
		}
	}
	f.serve(w, r)
}

// notBuilt is the answer of a program that was built without the web app.
func notBuilt(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write([]byte(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>linkstream</title></head>
<body><h1>The web app is not built</h1>
<p>This program was compiled without it: run <code>make web</code>, then build and start again.
The API works: see <a href="/docs">its documentation</a>.</p></body></html>
`))
}

func prepare(name string, content []byte) (file, error) {
	sum := sha256.Sum256(content)
	f := file{
		plain:       content,
		etag:        hex.EncodeToString(sum[:12]),
		contentType: contentType(name),
		cache:       "no-cache",
	}
	if strings.HasPrefix(name, assets) {
		f.cache = "public, max-age=31536000, immutable"
	}
	if len(content) < gzipFrom || !compressible(f.contentType) {
		return f, nil
	}
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return f, err
	}
	_, err = zip.Write(content)
	if err = errors.Join(err, zip.Close()); err != nil {
		return f, err
	}
	if out.Len() < len(content) {
		f.compressed = out.Bytes()
	}
	return f, nil
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	header, content, etag := w.Header(), f.plain, f.etag
	header.Set("Content-Type", f.contentType)
	header.Set("Cache-Control", f.cache)
	if f.compressed != nil {
		header.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Get("Accept-Encoding")) {
			content, etag = f.compressed, f.etag+"-gz"
			header.Set("Content-Encoding", "gzip")
			// ServeContent leaves the length out for encoded content.
			header.Set("Content-Length", strconv.Itoa(len(content)))
			// A range would be one of the compressed bytes; nobody needs it.
			r.Header.Del("Range")
		}
	}
	header.Set("ETag", `"`+etag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// contentType does not ask the system's MIME table, which differs from machine to machine.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".txt":
		return "text/plain; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	case ".json", ".webmanifest":
		return "application/json"
	default:
		if t := mime.TypeByExtension(path.Ext(name)); t != "" {
			return t
		}
		return "application/octet-stream"
	}
}

func compressible(contentType string) bool {
	return strings.HasPrefix(contentType, "text/") || contentType == "image/svg+xml" || contentType == "application/json"
}

// acceptsGzip reads Accept-Encoding as browsers send it: a list, where q=0 refuses.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, parameters, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		quality, ok := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
		if !ok {
			return true
		}
		q, err := strconv.ParseFloat(quality, 64)
		return err == nil && q > 0
	}
	return false
}
