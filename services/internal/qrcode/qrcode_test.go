package qrcode_test

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	qr "github.com/piglig/go-qr"

	"github.com/linkstream/linkstream/services/internal/qrcode"
)

var update = flag.Bool("update", false, "write the golden files anew")

const link = "https://go.example.com/spring/sale?qr"

func parse(t *testing.T, query string) qrcode.Options {
	t.Helper()
	o, err := qrcode.Parse(qrcode.Values(query), qrcode.SVG)
	if err != nil {
		t.Fatalf("%.80s: %v", query, err)
	}
	return o
}

func drawn(t *testing.T, o qrcode.Options, text string) []byte {
	t.Helper()
	out, err := o.Draw(text)
	if err != nil {
		t.Fatalf("drawing %.80s: %v", text, err)
	}
	return out
}

// logo is a picture with a hole, as a data URL, escaped for a query.
func logo(t *testing.T, width, height int) string {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.NRGBA{0xe1, 0x1d, uint8(x * 255 / width), 0xff}
			if (2*x-width)*(2*x-width)+(2*y-height)*(2*y-height) < width*height/4 {
				c.A = 0
			}
			img.SetNRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return url.QueryEscape("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()))
}

func TestGoldenFiles(t *testing.T) {
	check := func(name, query string) {
		t.Helper()
		o := parse(t, query)
		got := drawn(t, o, link)
		if !bytes.Equal(got, drawn(t, o, link)) {
			t.Errorf("%s: two calls differ", name)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// How pixels are compressed is Go's and may change; what they are is not.
		if o.Format == qrcode.PNG && !bytes.Equal(pixels(t, got).Pix, pixels(t, want).Pix) || o.Format == qrcode.SVG && !bytes.Equal(got, want) {
			t.Errorf("%s is not what it was; if that is meant, run the test with -update", name)
		}
	}
	check("plain.svg", "")
	check("plain.png", "format=png&size=200")
	check("colors.svg", "color=1e3a8a&background=fef9c3&margin=2&level=Q&size=1024")
	check("colors.png", "format=png&color=%231e3a8a&background=fef9c3&margin=0&level=l&size=111")
	check("logo.svg", "logo="+logo(t, 60, 40))
	check("logo.png", "format=PNG&size=300&level=Q&background=ff8&logo="+logo(t, 60, 40))
}

func TestWhatIsDrawnCanBeRead(t *testing.T) {
	check := func(text, query string) {
		t.Helper()
		o := parse(t, query)
		out := drawn(t, o, text)
		var img image.Image
		if o.Format == qrcode.PNG {
			canvas := pixels(t, out)
			if size := canvas.Bounds().Size(); size != image.Pt(o.Size, o.Size) {
				t.Errorf("%.80s: the PNG has %v pixels, want %d", query, size, o.Size)
			}
			img = canvas
		} else {
			img = raster(t, out)
		}
		got, err := qr.Decode(img)
		if err != nil || got != text {
			t.Errorf("%.60s with %.80s is read as %.60q, %v", text, query, got, err)
		}
	}
	long := "https://" + strings.Repeat("long.", 50) + "example/" + strings.Repeat("%F0%9F%8E%81", 60) + "?qr"
	for _, format := range []string{"png", "svg"} {
		for _, level := range []string{"L", "M", "Q", "H"} {
			for _, text := range []string{"https://a.io/b", link} {
				check(text, "format="+format+"&size=300&level="+level)
			}
			check(link, "format="+format+"&color=000080&background=ffd700&level="+level)
			check(link, "format="+format+"&color=f00&level="+level)
		}
		for _, level := range []string{"Q", "H"} {
			for _, size := range [][2]int{{64, 64}, {200, 20}, {1, 300}, {512, 512}} {
				for _, text := range []string{"a.io/b", link} {
					check(text, "size=300&format="+format+"&level="+level+"&logo="+logo(t, size[0], size[1]))
				}
			}
		}
		check(long, "size=600&format="+format+"&level=L")
		check(long, "size=600&format="+format+"&logo="+logo(t, 64, 64))
	}
	for size := 85; size < 100; size++ {
		check(link, fmt.Sprint("format=png&size=", size))
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	check := func(query string, want ...string) {
		t.Helper()
		_, err := qrcode.Parse(qrcode.Values(query), qrcode.PNG)
		var wrong qrcode.FieldErrors
		if !errors.As(err, &wrong) {
			t.Fatalf("%.80s: %v, want field errors", query, err)
		}
		var got []string
		for _, f := range wrong {
			got = append(got, f.Field+":"+string(f.Code))
			if f.Detail == "" {
				t.Errorf("%.80s: %s is refused without a reason", query, f.Field)
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%.80s: %v, want %v", query, got, want)
		}
	}
	check("format=gif", "format:invalid")
	check("size=63", "size:invalid")
	check("size=2049", "size:invalid")
	check("size=99999999999999999999", "size:invalid")
	check("size=1e3&margin=-1", "size:invalid", "margin:invalid")
	check("margin=17", "margin:invalid")
	check("level=X", "level:invalid")
	check("size=100&size=200", "size:repeated")
	check("color=12345", "color:invalid")
	check("color=gggggg", "color:invalid")
	check("color=%2B12345", "color:invalid")
	check("background=transparent", "background:invalid")
	check("background=ffffff00", "background:invalid")
	check("color=777&background=666", "color:low_contrast")
	check("color=fff&background=000", "color:low_contrast")
	check("color=ffff00", "color:low_contrast")
	check("background=000", "color:low_contrast")
	check("logo=https://e.test/x.png", "logo:invalid")
	check("logo=data:image/svg%2Bxml;base64,AAAA", "logo:invalid")
	check("logo=data:image/png;base64,!!!!", "logo:invalid")
	check("logo=data:image/png;base64,AAAA", "logo:invalid")
	check("logo="+logo(t, 513, 1), "logo:invalid")
	check("logo="+logo(t, 8, 8)[:120], "logo:invalid")
	check("logo=data:image/png;base64,"+strings.Repeat("A", 90_000), "logo:invalid")
	check("level=M&logo="+logo(t, 8, 8), "level:not_allowed")
	check("format=gif&size=1&margin=x&level=7&color=x", "format:invalid", "size:invalid", "margin:invalid", "level:invalid", "color:invalid")
}

func TestWhatDoesNotSuitTheTextIsRefused(t *testing.T) {
	check := func(text, query, want string) {
		t.Helper()
		_, err := parse(t, query).Draw(text)
		var wrong qrcode.FieldErrors
		if !errors.As(err, &wrong) || len(wrong) != 1 || wrong[0].Field+":"+string(wrong[0].Code) != want {
			t.Errorf("%s of %d bytes: %v, want %s", query, len(text), err, want)
		}
	}
	check(strings.Repeat("x", 2049), "", "text:too_long")
	check(strings.Repeat("x", 1800), "level=H", "level:too_long")
	check(link, "format=png&size=73", "size:invalid")
	check(strings.Repeat("x", 2000), "format=png&size=300", "size:invalid")
}

func TestSimilarSpellingsMeanTheSame(t *testing.T) {
	want := drawn(t, parse(t, ""), link)
	for _, query := range []string{"size=&margin=&color=&logo=", "size=512&margin=4&level=m&format=SVG&color=%23000&background=FFFFFF", "v=2"} {
		if !bytes.Equal(drawn(t, parse(t, query), link), want) {
			t.Errorf("%s draws something else", query)
		}
	}
	escaped := logo(t, 30, 30)
	raw, err := url.QueryUnescape(escaped)
	if err != nil {
		t.Fatal(err)
	}
	want = drawn(t, parse(t, "logo="+escaped), link)
	for _, spelling := range []string{
		raw, // a plus sign is a space then
		strings.TrimRight(raw, "="),
		strings.NewReplacer("+", "-", "image/png", "image/PNG").Replace(raw),
	} {
		if !bytes.Equal(drawn(t, parse(t, "logo="+strings.ReplaceAll(spelling, "=", "%3D")), link), want) {
			t.Errorf("a logo written as %.60s... draws something else", spelling)
		}
	}
}

// What came in a logo's file beside its pixels does not get out again.
func TestALogoLeavesNothingElseBehind(t *testing.T) {
	raw, err := url.QueryUnescape(logo(t, 30, 30))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(raw, "data:image/png;base64,"))
	if err != nil {
		t.Fatal(err)
	}
	packed = append(packed, "<script>alert(1)</script>"...)
	want := drawn(t, parse(t, "logo="+url.QueryEscape(raw)), link)
	got := drawn(t, parse(t, "logo="+url.QueryEscape("data:image/png;base64,"+base64.StdEncoding.EncodeToString(packed))), link)
	if !bytes.Equal(got, want) {
		t.Error("the end of the file is in the SVG")
	}
}

func FuzzDraw(f *testing.F) {
	f.Add("format=png&size=128", link)
	f.Add("color=123&background=fed&margin=0&level=h", "x")
	f.Add("logo=data:image/png;base64,iVBORw0KGgo=", "")
	f.Add("format=svg&size=2048&level=L", strings.Repeat("\xff", 300))
	f.Fuzz(func(t *testing.T, query, text string) {
		o, err := qrcode.Parse(qrcode.Values(query), qrcode.SVG)
		if err != nil {
			if wrong := qrcode.FieldErrors(nil); !errors.As(err, &wrong) || len(wrong) == 0 {
				t.Fatalf("Parse(%q): %v is no list of field errors", query, err)
			}
			return
		}
		out, err := o.Draw(text)
		if err != nil {
			if wrong := qrcode.FieldErrors(nil); !errors.As(err, &wrong) || len(wrong) == 0 {
				t.Fatalf("%q of %q: %v is no list of field errors", query, text, err)
			}
			return
		}
		if o.Format == qrcode.PNG {
			if size := pixels(t, out).Bounds().Size(); size != image.Pt(o.Size, o.Size) {
				t.Errorf("%q: %v pixels", query, size)
			}
		} else {
			raster(t, out)
		}
	})
}

// The dearest that anybody can ask for.
func BenchmarkDraw(b *testing.B) {
	long := strings.Repeat("x", 1200)
	run := func(name, text string, edit func(*qrcode.Options)) {
		b.Run(name, func(b *testing.B) {
			o := qrcode.Default(qrcode.SVG)
			edit(&o)
			b.ReportAllocs()
			for b.Loop() {
				out, err := o.Draw(text)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(out)), "bytes")
			}
		})
	}
	run("svg", link, func(*qrcode.Options) {})
	run("png", link, func(o *qrcode.Options) { o.Format = qrcode.PNG })
	run("svg-long", long, func(*qrcode.Options) {})
	run("png-long-large", long, func(o *qrcode.Options) { o.Format, o.Size = qrcode.PNG, qrcode.MaxSize })
	run("png-logo-large", long, func(o *qrcode.Options) {
		o.Format, o.Size, o.Level, o.Logo = qrcode.PNG, qrcode.MaxSize, qrcode.High, image.NewRGBA(image.Rect(0, 0, 512, 512))
	})
}

// pixels unpacks a PNG.
func pixels(t *testing.T, packed []byte) *image.RGBA {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	canvas := image.NewRGBA(img.Bounds())
	draw.Draw(canvas, canvas.Bounds(), img, image.Point{}, draw.Src)
	return canvas
}

// raster draws the SVGs of this package, eight pixels to a module. It knows no others.
func raster(t *testing.T, svg []byte) *image.RGBA {
	t.Helper()
	const module = 8
	var canvas *image.RGBA
	fill := func(x, y, w, h int, c color.Color) {
		draw.Draw(canvas, image.Rect(x*module, y*module, (x+w)*module, (y+h)*module), image.NewUniform(c), image.Point{}, draw.Src)
	}
	number := func(e xml.StartElement, name string) (n int) {
		for _, a := range e.Attr {
			if a.Name.Local == name {
				_, _ = fmt.Sscan(a.Value, &n)
			}
		}
		return n
	}
	text := func(e xml.StartElement, name string) string {
		for _, a := range e.Attr {
			if a.Name.Local == name {
				return a.Value
			}
		}
		return ""
	}
	hex := func(s string) color.Color {
		c := color.RGBA{A: 0xff}
		if _, err := fmt.Sscanf(s, "#%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
			t.Fatalf("the colour %q: %v", s, err)
		}
		return c
	}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return canvas
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch e.Name.Local {
		case "svg":
			var side int
			if _, err := fmt.Sscanf(text(e, "viewBox"), "0 0 %d", &side); err != nil {
				t.Fatal(err)
			}
			canvas = image.NewRGBA(image.Rect(0, 0, side*module, side*module))
		case "rect":
			fill(number(e, "x"), number(e, "y"), number(e, "width"), number(e, "height"), hex(text(e, "fill")))
		case "path":
			for row := range strings.SplitSeq(strings.TrimPrefix(text(e, "d"), "M"), "M") {
				var x, y, w int
				if _, err := fmt.Sscanf(row, "%d %dh%dv1", &x, &y, &w); err != nil && row != "" {
					t.Fatalf("the path %q: %v", row, err)
				}
				fill(x, y, w, 1, hex(text(e, "fill")))
			}
		case "image": // what is in it is not what is read
			fill(number(e, "x"), number(e, "y"), number(e, "width"), number(e, "height"), color.RGBA{0x80, 0x10, 0x40, 0xff})
		default:
			t.Fatalf("an element %s", e.Name.Local)
		}
	}
}
