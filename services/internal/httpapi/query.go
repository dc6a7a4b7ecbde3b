package httpapi

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// checkQuery refuses a query that cannot be read, or names a parameter twice that is
// no list. net/url drops the parts it cannot read, so a filter with a stray percent sign
// would silently become no filter at all.
func checkQuery(api huma.API, log *slog.Logger) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		u := ctx.URL()
		status, detail := http.StatusOK, ""
		var fields []error
		values, err := url.ParseQuery(u.RawQuery)
		if err != nil {
			status, detail = http.StatusBadRequest, "The query of the address cannot be read: "+err.Error()+"."
		}
		for name, given := range values {
			if len(given) > 1 && !isList(ctx.Operation(), name) {
				status, detail = http.StatusUnprocessableEntity, "A parameter is given more than once."
				fields = append(fields, &huma.ErrorDetail{Location: "query." + name, Message: repeated})
			}
		}
		if status == http.StatusOK {
			next(ctx)
			return
		}
		slices.SortFunc(fields, func(a, b error) int { return slices.Compare([]byte(a.Error()), []byte(b.Error())) })
		if err := huma.WriteErr(api, ctx, status, detail, fields...); err != nil {
			log.DebugContext(ctx.Context(), "answer not written", "err", err)
		}
	}
}

// repeated is what is wrong with a parameter that is given twice.
const repeated = "Give it once."

// isList says whether the operation takes the parameter more than once: the document
// says so, and clients that are made from it repeat it.
func isList(op *huma.Operation, name string) bool {
	return slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool {
		return p.In == "query" && p.Name == name && p.Schema != nil && p.Schema.Type == huma.TypeArray
	})
}
