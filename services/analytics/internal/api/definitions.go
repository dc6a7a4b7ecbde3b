package api

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Definition says what a word means.
type Definition struct {
	Term string `json:"term"`
	Text string `json:"text"`
}

// definitions are what stands beside the numbers, here, in the OpenAPI document and in
// the dashboard.
func definitions() []Definition {
	return []Definition{
		{"click", "A redirect that an edge answered to a GET. It counts once, whatever fails in between. A HEAD, an unknown slug, a page that asks for a password and a preview are no clicks."},
		{"unique_visitor", "A visitor is recognised by a keyed hash of address and browser. The key is made for each day (of UTC) and thrown away, and no address is stored: somebody who comes on two days counts twice, and people behind one address with the same browser count once. Exact for some thousands, then within a percent of the truth."},
		{"bot", "A click of a crawler, a link preview, a monitor, an HTTP library, or a browser that fetches in advance. Bots are told by what they send, kept apart, and left out of clicks and visitors unless asked for."},
		{"place", "Country, region and city of the visitor's address by a file of DB-IP (IP Geolocation by DB-IP, https://db-ip.com), looked up when the click is counted. Unknown for private addresses, and where the file has no entry."},
		{"referrer", "The host of the page that led here, as the browser says; empty for direct visits, mails and apps that say nothing."},
		{"tag", "Figures of a tag are those of the links that have it now, whenever they were clicked. A link with two tags counts for both."},
	}
}

// about is the text of the document.
func about() string {
	var text strings.Builder
	text.WriteString("Clicks, counted. Bots are left out unless `bots` says otherwise. Filters hold together; the values of one filter are alternatives.")
	for _, d := range definitions() {
		text.WriteString("\n\n**" + strings.ReplaceAll(d.Term, "_", " ") + "**: " + d.Text)
	}
	return text.String()
}

func (h *handlers) registerDefinitions(api huma.API) {
	huma.Register(api, operation("get-definitions", "/v1/analytics/definitions", "What the numbers mean",
		"The texts that stand beside the numbers in the dashboard."), h.definitions)
}

type definitionsOutput struct {
	Body struct {
		Data []Definition `json:"data" nullable:"false"`
	}
}

func (h *handlers) definitions(context.Context, *struct{}) (*definitionsOutput, error) {
	out := &definitionsOutput{}
	out.Body.Data = definitions()
	return out, nil
}
