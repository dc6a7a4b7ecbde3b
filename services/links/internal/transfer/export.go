package transfer

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/linkstream/linkstream/services/internal/linkoption"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// AppendNames adds the first line of an export as CSV.
func AppendNames(line []byte) []byte {
	return appendLine(line, "domain", "slug", "destination", "title", "tags", "notes", "status_code", "starts_at", "expires_at", "fallback_url", "archived",
		"forward_query", "disabled", "max_clicks", "has_password", "forward_path", "utm", "rules", "variants", "variants_end_at", "variants_winner", "preview",
		"id", "short_url", "version", "created_at", "updated_at")
}

// AppendLink adds a link as a line of CSV that a spreadsheet shows without calculating, and
// that imports to the same link.
func AppendLink(line []byte, l *link.Link, shortURL string) []byte {
	o := &l.Options
	cells := []string{
		l.Domain.Host, l.Slug, l.Destination, l.Title, tagsCell(l.Tags), l.Notes, strconv.Itoa(l.StatusCode), timeCell(l.StartsAt), timeCell(l.ExpiresAt), l.FallbackURL,
		strconv.FormatBool(l.Archived), string(l.ForwardQuery), strconv.FormatBool(l.Disabled), "", strconv.FormatBool(l.Password.IsSet()), strconv.FormatBool(o.ForwardPath),
		jsonCell(o.UTM, o.UTM == linkoption.UTM{}), jsonCell(o.Rules, len(o.Rules) == 0), jsonCell(o.Split.Variants, len(o.Split.Variants) == 0), timeCell(o.Split.EndsAt), "",
		jsonCell(o.Preview, o.Preview == linkoption.Preview{}),
		l.ID.String(), shortURL, strconv.FormatUint(l.Version, 10), timeCell(&l.CreatedAt), timeCell(&l.UpdatedAt),
	}
	if l.MaxClicks != 0 {
		cells[13] = strconv.FormatInt(l.MaxClicks, 10)
	}
	if o.Split.Winner != 0 {
		cells[20] = strconv.Itoa(o.Split.Winner)
	}
	for i, cell := range cells {
		cells[i] = Harmless(cell)
	}
	return appendLine(line, cells...)
}

func timeCell(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// tagsCell is what tagsOf reads: a list in JSON where a tag has a separator itself.
func tagsCell(tags []string) string {
	for _, t := range tags {
		if strings.ContainsAny(t, tagSeparators) || strings.HasPrefix(t, "[") {
			return jsonCell(tags, false)
		}
	}
	return strings.Join(tags, ",")
}

func jsonCell(v any, none bool) string {
	if none {
		return ""
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return "" // texts, numbers and times: none fails
	}
	return strings.TrimSuffix(text.String(), "\n")
}
