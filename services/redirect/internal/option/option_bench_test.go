package option_test

import (
	"net/netip"
	"testing"

	"github.com/linkstream/linkstream/services/redirect/internal/option"
)

// tenRules look at everything, and none of them holds.
func (w *world) tenRules(tb testing.TB) option.Program {
	tb.Helper()
	return w.rules(tb,
		`{"type":"country","values":["DE","AT","CH"]}`,
		`{"type":"region","values":["DE/Bavaria"]}`,
		`{"type":"continent","values":["AF","SA"]}`,
		`{"type":"language","values":["fr","pt-br"]}`,
		`{"type":"device","values":["desktop"]},{"type":"bot","values":["true"]}`,
		`{"type":"os","values":["Android","Linux"]}`,
		`{"type":"browser","values":["Chrome","Firefox"]}`,
		`{"type":"query","values":["ref=news","beta"]}`,
		`{"type":"time","zone":"Europe/Berlin","weekdays":["sat","sun"],"from":"09:00","to":"17:00"}`,
		`{"type":"address","values":["203.0.113.0/24","2001:db8::/32"]}`,
	)
}

func busy(v *option.Visitor) {
	v.Address = netip.MustParseAddr("193.0.6.139")
	v.UserAgent = []byte(iphone)
	v.AcceptLanguage = []byte("de-CH,de;q=0.9,en-US;q=0.8,en;q=0.7")
	v.Query = []byte("utm_source=newsletter&utm_medium=email&x=1")
}

func BenchmarkTenRules(b *testing.B) {
	w := newWorld(b)
	p, visitor := w.tenRules(b), w.visitor(busy)
	b.ReportAllocs()
	for b.Loop() {
		v := *visitor
		if n, _ := p.Rule(&v); n != 0 {
			b.Fatal(n)
		}
	}
}

func BenchmarkVariant(b *testing.B) {
	w := newWorld(b)
	p, err := option.Compile(`{"x":[{"d":"https://a.test/","w":70},{"d":"https://b.test/","w":30}]}`, w.zones)
	if err != nil {
		b.Fatal(err)
	}
	v, link := w.visitor(busy), [16]byte{1}
	b.ReportAllocs()
	for b.Loop() {
		p.Variant(v, &link)
	}
}
