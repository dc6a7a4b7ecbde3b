package api

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/qrcode"
)

func (a *api) registerQR(h huma.API, tags []string) {
	binary := &huma.Schema{Type: huma.TypeString, Format: "binary"}
	huma.Register(h, huma.Operation{
		OperationID: "get-link-qr", Method: http.MethodGet, Path: "/v1/links/{id}/qr", Summary: "Get a link's QR code",
		Description: "The code holds the short URL with a mark (?qr), by which scans are told from clicks: they have the source qr in analytics. " +
			"The same code is at the short URL with .qr behind it. The same parameters give the same bytes.",
		Tags: tags, Security: httpapi.Needs(access.LinksRead),
		SkipValidateParams: true, // an id that is no UUID is the id of no link: 404; package qrcode judges the others
		Responses: map[string]*huma.Response{"200": {
			Description: "OK",
			Content:     map[string]*huma.MediaType{qrcode.SVG.ContentType(): {Schema: binary}, qrcode.PNG.ContentType(): {Schema: binary}},
		}},
		Errors: []int{401, 403, 404, 422, 503},
	}, a.qr)
}

type qrInput struct {
	IDParam
	Format     string             `query:"format" enum:"svg,png" default:"svg"`
	Size       optionalParam[int] `query:"size" minimum:"64" maximum:"2048" example:"1024" doc:"Pixels on a side; 512 when left out. A PNG has exactly as many; an SVG is shown at this size."`
	Margin     optionalParam[int] `query:"margin" minimum:"0" maximum:"16" example:"4" doc:"Free space on each side, in modules; 4 when left out, as the standard asks for"`
	Level      string             `query:"level" enum:"L,M,Q,H" example:"Q" doc:"How much of the code may be lost: about 7, 15, 25, 30 percent. M when left out, H with a logo."`
	Color      string             `query:"color" example:"1a2b3c" doc:"Three or six hexadecimal digits. Colours that scanners cannot tell from the background are refused."`
	Background string             `query:"background" example:"ffffff" doc:"Three or six hexadecimal digits"`
	Logo       string             `query:"logo" doc:"A PNG as a data URL, percent-encoded: at most 64 KiB and 512 pixels on a side. It covers the middle of the code, at the levels H and Q only."`
}

// Resolve implements huma.Resolver. It refuses unknown parameters, which huma does only
// where it judges the others, too.
func (in *qrInput) Resolve(ctx huma.Context) []error {
	var wrong []error
	u := ctx.URL()
	for _, name := range slices.Sorted(maps.Keys(u.Query())) {
		if !slices.Contains([]string{"format", "size", "margin", "level", "color", "background", "logo"}, name) {
			wrong = append(wrong, &huma.ErrorDetail{Location: "query." + name, Message: "unknown query parameter"})
		}
	}
	return wrong
}

// options are the parameters as package qrcode reads them: what is left out, or empty,
// is the default.
func (in *qrInput) options() (qrcode.Options, error) {
	values := url.Values{"format": {in.Format}, "level": {in.Level}, "color": {in.Color}, "background": {in.Background}, "logo": {in.Logo}}
	for name, n := range map[string]*int{"size": in.Size.pointer(), "margin": in.Margin.pointer()} {
		if n != nil {
			values.Set(name, strconv.Itoa(*n))
		}
	}
	return qrcode.Parse(values, qrcode.SVG)
}

type qrOutput struct {
	ContentType string `header:"Content-Type"`
	Sniffing    string `header:"X-Content-Type-Options"`
	Body        []byte
}

func (a *api) qr(ctx context.Context, in *qrInput) (*qrOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := parseID(in.ID)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	options, err := in.options()
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	l, err := a.links.Get(ctx, workspace, id)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	drawn, err := options.Draw(a.shortURLs.Scan(l.Domain.Host, l.Slug))
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return &qrOutput{ContentType: options.Format.ContentType(), Sniffing: "nosniff", Body: drawn}, nil
}
