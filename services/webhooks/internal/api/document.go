package api

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/linkstream/linkstream/services/webhooks/internal/event"
)

// What a receiver gets; they exist for the document.
type (
	linkMessage struct {
		Type      string         `json:"type" enum:"link.created,link.updated,link.deleted,link.expired" example:"link.created"`
		Timestamp string         `json:"timestamp" format:"date-time" example:"2026-11-30T12:00:00Z"`
		Data      event.LinkData `json:"data" doc:"The link as the API shows it: after the change, when it expired, or before it was deleted"`
	}
	thresholdMessage struct {
		Type      string              `json:"type" enum:"link.threshold_reached"`
		Timestamp string              `json:"timestamp" format:"date-time"`
		Data      event.ThresholdData `json:"data"`
	}
	summaryMessage struct {
		Type      string             `json:"type" enum:"clicks.summary"`
		Timestamp string             `json:"timestamp" format:"date-time"`
		Data      event.ClickSummary `json:"data"`
	}
	testMessage struct {
		Type      string         `json:"type" enum:"webhook.test"`
		Timestamp string         `json:"timestamp" format:"date-time"`
		Data      event.TestData `json:"data"`
	}
)

// describe adds the section webhooks: what is sent to an endpoint.
func describe(document *huma.OpenAPI) {
	schemas := document.Components.Schemas
	if document.Webhooks == nil {
		document.Webhooks = map[string]*huma.PathItem{}
	}
	tell := func(t event.Type, summary string, body reflect.Type) {
		header := func(name, description string) *huma.Param {
			return &huma.Param{Name: name, In: "header", Required: true, Description: description, Schema: &huma.Schema{Type: huma.TypeString}}
		}
		document.Webhooks[string(t)] = &huma.PathItem{Post: &huma.Operation{
			Summary: summary, Tags: []string{"webhooks"}, OperationID: "told-" + string(t),
			Parameters: []*huma.Param{
				header("webhook-id", "The event's id: the same for every attempt"),
				header("webhook-timestamp", "When this attempt was made, in seconds since 1970"),
				header("webhook-signature", "v1,BASE64 of HMAC-SHA256 over id.timestamp.body; one for each secret, with a space between"),
			},
			RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(body, true, "")}}},
			Responses: map[string]*huma.Response{
				"2XX":     {Description: "It was taken"},
				"410":     {Description: "Nothing more is wanted: the endpoint is disabled"},
				"default": {Description: http.StatusText(http.StatusServiceUnavailable) + " or whatever else: it is tried again"},
			},
			Security: []map[string][]string{},
		}}
	}
	tell(event.LinkCreated, "A link was created", reflect.TypeFor[linkMessage]())
	tell(event.LinkUpdated, "A link was changed", reflect.TypeFor[linkMessage]())
	tell(event.LinkDeleted, "A link was deleted", reflect.TypeFor[linkMessage]())
	tell(event.LinkExpired, "A link's time is over", reflect.TypeFor[linkMessage]())
	tell(event.LinkThresholdReached, "A link has been clicked so often", reflect.TypeFor[thresholdMessage]())
	tell(event.ClicksSummary, "Clicks of some minutes", reflect.TypeFor[summaryMessage]())
	tell(event.Test, "A test, on request", reflect.TypeFor[testMessage]())
	// huma's own nullable is for plain types only.
	link := schemas.Map()["LinkData"]
	for _, name := range []string{"utm", "preview"} {
		link.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{link.Properties[name], {Type: "null"}}}
	}
}
