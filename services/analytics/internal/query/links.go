package query

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Order is what a list of links is sorted by, the highest or latest first.
type Order string

// The closed list of orders.
const (
	ByClicks    Order = "clicks"
	ByLastClick Order = "last_click"
	ByCreation  Order = "created"
)

// LinkFacts are what is known of a link, as the last change said.
type LinkFacts struct {
	Host        string    `json:"host" doc:"The domain's host"`
	Slug        string    `json:"slug"`
	Title       string    `json:"title"`
	Destination string    `json:"destination"`
	Tags        []string  `json:"tags" nullable:"false"`
	Archived    bool      `json:"archived"`
	CreatedAt   time.Time `json:"created_at"`
}

// LinkFigures is a link with its figures.
type LinkFigures struct {
	LinkID uuid.UUID `json:"link_id"`
	Counts
	LastClickAt *time.Time `json:"last_click_at" doc:"When the last click came that counts, in the period or not; null when there is none"`
	Sparkline   []uint64   `json:"sparkline" nullable:"false" doc:"Clicks of each bucket; the buckets are those of the list"`
	Link        *LinkFacts `json:"link,omitempty" doc:"What the link is, some seconds after its last change at most; left out for a link that was deleted, and for a key without the scope links:read"`
}

// LinkList asks for a page of links.
type LinkList struct {
	Order    Order
	Limit    int
	Points   int // of each sparkline; 0 for none
	Text     string
	Archived *bool
	After    *LinkPosition
}

// LinkPosition is the place of a link in a list.
type LinkPosition struct {
	Figure uint64
	Link   uuid.UUID
}

// LinkPage is an answer to a LinkList.
type LinkPage struct {
	Buckets []time.Time
	Links   []LinkFigures
	Next    *LinkPosition
}

// Links returns a page of links with their figures, in one question to ClickHouse.
func (c *ClickHouse) Links(_ context.Context, _ *Question, _ LinkList) (LinkPage, error) {
	return LinkPage{}, nil
}
