package api

import (
	"context"
	"errors"
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
	const about = "The code holds the short URL with a mark (?qr), by which scans are told from clicks: they have the source qr in analytics. " +
		"The same code is at the short URL with .qr behind it. The same parameters give the same bytes."
	drawn := func() map[string]*huma.Response {
		binary := &huma.Schema{Type: huma.TypeString, Format: "binary"}
		return map[string]*huma.Response{"200": {
			Description: "OK",
			Content:     map[string]*huma.MediaType{qrcode.SVG.ContentType(): {Schema: binary}, qrcode.PNG.ContentType(): {Schema: binary}},
		}}
	}
	huma.Register(h, huma.Operation{
		OperationID: "get-link-qr", Method: http.MethodGet, Path: "/v1/links/{id}/qr", Summary: "Get a link's QR code",
		Description: about, Tags: tags, Security: httpapi.Needs(access.LinksRead),
		SkipValidateParams: true, // an id that is no UUID is the id of no link: 404; package qrcode judges the others
		Responses:          drawn(), Errors: []int{401, 403, 404, 422, 503},
	}, a.getQR)
	huma.Register(h, huma.Operation{
		OperationID: "draw-link-qr", Method: http.MethodPost, Path: "/v1/links/{id}/qr", Summary: "Draw a link's QR code with a large logo",
		Description: "The same as the GET, for logos that do not fit into an address: many servers take 8 KiB of one only, this one 64. " + about,
		Tags:        tags, Security: httpapi.Needs(access.LinksRead),
		SkipValidateParams: true, // an id that is no UUID is the id of no link: 404
		Responses:          drawn(), Errors: []int{400, 401, 403, 404, 413, 415, 422, 503},
	}, a.drawQR)
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

func (in *qrInput) options() (qrcode.Options, error) {
	return qrOptions(in.Size.pointer(), in.Margin.pointer(), url.Values{
		"format": {in.Format}, "level": {in.Level}, "color": {in.Color}, "background": {in.Background}, "logo": {in.Logo},
	}, "query.")
}

type qrBody struct {
	Format     string `json:"format,omitempty" enum:"svg,png" default:"svg"`
	Size       *int   `json:"size,omitempty" minimum:"64" maximum:"2048" example:"1024" doc:"Pixels on a side; 512 when left out"`
	Margin     *int   `json:"margin,omitempty" minimum:"0" maximum:"16" example:"4" doc:"Free space on each side, in modules; 4 when left out"`
	Level      string `json:"level,omitempty" enum:"L,M,Q,H" example:"Q" doc:"M when left out, H with a logo"`
	Color      string `json:"color,omitempty" example:"1a2b3c" doc:"Three or six hexadecimal digits"`
	Background string `json:"background,omitempty" example:"ffffff" doc:"Three or six hexadecimal digits"`
	Logo       string `json:"logo,omitempty" doc:"A PNG as a data URL, at most 64 KiB and 512 pixels on a side"`
}

type qrBodyInput struct {
	IDParam
	Body qrBody
}

func (b *qrBody) options() (qrcode.Options, error) {
	return qrOptions(b.Size, b.Margin, url.Values{
		"format": {b.Format}, "level": {b.Level}, "color": {b.Color}, "background": {b.Background}, "logo": {b.Logo},
	}, "")
}

// qrOptions are parameters as package qrcode reads them: what is left out, or empty, is
// the default. An error names fields with the prefix.
func qrOptions(size, margin *int, values url.Values, prefix string) (qrcode.Options, error) {
	for name, n := range map[string]*int{"size": size, "margin": margin} {
		if n != nil {
			values.Set(name, strconv.Itoa(*n))
		}
	}
	options, err := qrcode.Parse(values, qrcode.SVG)
	return options, named(err, prefix)
}

// named puts the prefix before the names of the options that are wrong.
func named(err error, prefix string) error {
	var wrong qrcode.FieldErrors
	if !errors.As(err, &wrong) {
		return err
	}
	wrong = slices.Clone(wrong)
	for i := range wrong {
		wrong[i].Field = prefix + wrong[i].Field
	}
	return wrong
}

type qrOutput struct {
	ContentType string `header:"Content-Type"`
	Sniffing    string `header:"X-Content-Type-Options"`
	Body        []byte
}

func (a *api) getQR(ctx context.Context, in *qrInput) (*qrOutput, error) {
	return a.qr(ctx, in.ID, in.options, "query.")
}

func (a *api) drawQR(ctx context.Context, in *qrBodyInput) (*qrOutput, error) {
	return a.qr(ctx, in.ID, in.Body.options, "")
}

func (a *api) qr(ctx context.Context, textID string, options func() (qrcode.Options, error), prefix string) (*qrOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := parseID(textID)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	o, err := options()
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	l, err := a.links.Get(ctx, workspace, id)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	drawn, err := o.Draw(a.shortURLs.Scan(l.Domain.Host, l.Slug))
	if err != nil {
		return nil, a.problem(ctx, named(err, prefix))
	}
	return &qrOutput{ContentType: o.Format.ContentType(), Sniffing: "nosniff", Body: drawn}, nil
}
