package transfer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

// rowMaker turns what a file says into the body of a call that creates a link.
type rowMaker struct {
	options Options
	format  Format
	table   columns
	// to says what becomes of each column of a CSV file.
	to []string
}

// head reads the line of names and returns the names that nothing is read from.
func (m *rowMaker) head(names []string) (ignored []string, err error) {
	m.to = make([]string, len(names))
	for i, name := range names {
		to, ok := m.table.find(name)
		switch {
		case !ok && strings.TrimSpace(name) != "":
			ignored = append(ignored, strings.TrimSpace(name))
		case ok:
			m.to[i] = to
		}
	}
	if !slices.Contains(m.to, "destination") {
		return nil, FileError("no column says where the links lead: name one `destination`, or say whose file it is; the first line has " + shown(names))
	}
	return ignored, nil
}

func shown(names []string) string {
	text := strings.Join(names, ", ")
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200]) + " ..."
	}
	return text
}

// fields are what a row says, by member or special column.
type fields map[string]string

func (f fields) set(to, value string) {
	if f[to] == "" {
		f[to] = value
	}
}

// cells makes the row of a CSV record.
func (m *rowMaker) cells(number int64, cells []string) Row {
	f := fields{}
	for i, cell := range cells {
		if i >= len(m.to) || m.to[i] == "" {
			if i >= len(m.to) && strings.TrimSpace(cell) != "" {
				return Row{Number: number, Fault: &Fault{Reason: link.CodeInvalid, Detail: "the row has more cells than the first line has names"}}
			}
			continue
		}
		if m.format == CSV {
			cell = unharmed(cell)
		}
		f.set(m.to[i], cell)
	}
	return m.row(number, f)
}

// row makes the row of named texts.
func (m *rowMaker) row(number int64, f fields) Row {
	row := Row{Number: number}
	own := m.format == CSV || m.format == JSONL
	slug := strings.TrimSpace(f["slug"])
	if given := strings.TrimSpace(cmp.Or(f[toOwnURL], f[toShortURL])); slug == "" && given != "" {
		slug = pathOf(given)
	} else if !own && strings.Contains(slug, "://") {
		slug = pathOf(slug)
	}
	row.Slug = slug
	if locked := strings.TrimSpace(f[toLocked]); f["password"] != "" || locked != "" && !isFalse(locked) {
		row.Fault = lockedFault()
		return row
	}
	body := map[string]any{}
	for _, name := range members {
		value, ok := f[name]
		if !ok {
			continue
		}
		if name != "title" && name != "notes" {
			value = strings.TrimSpace(value)
		}
		if value == "" {
			continue
		}
		switch name {
		case "slug", "domain", toLocked, "password", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content":
		case "tags":
			body[name] = tagsOf(value)
		case "status_code", "max_clicks", "variants_winner":
			body[name] = numberOf(value)
		case "archived", "disabled", "forward_path":
			body[name] = boolOf(value)
		case "starts_at", "expires_at", "variants_end_at":
			body[name] = timeOf(value)
		case "utm", "rules", "variants", "preview":
			body[name] = jsonOf(value)
		default:
			body[name] = value
		}
	}
	if _, ok := body["destination"]; !ok {
		row.Fault = &Fault{Reason: link.CodeRequired, Detail: "destination: an absolute URL is needed"}
		return row
	}
	if slug != "" {
		body["slug"] = slug
	}
	if domain := m.domain(f["domain"]); domain != "" {
		body["domain"] = domain
	}
	if utm := utmOf(f); len(utm) > 0 && body["utm"] == nil {
		body["utm"] = utm
	}
	if note := m.history(f); note != "" {
		text, _ := body["notes"].(string)
		body["notes"] = strings.TrimLeft(text+"\n"+note, "\n")
	}
	return m.finish(row, body)
}

func (m *rowMaker) domain(given string) string {
	if m.options.Domain != "" {
		return m.options.Domain
	}
	if m.format == CSV || m.format == JSONL {
		return strings.TrimSpace(given)
	}
	return "" // another tool's host is none of ours
}

func (m *rowMaker) finish(row Row, body map[string]any) Row {
	text, err := json.Marshal(body)
	if err != nil {
		row.Fault = &Fault{Reason: link.CodeInvalid, Detail: "the row cannot be read"}
		return row
	}
	row.Link = text
	return row
}

// object makes the row of a line of JSON.
func (m *rowMaker) object(number int64, line []byte) Row {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil || raw == nil {
		return Row{Number: number, Fault: &Fault{Reason: link.CodeInvalid, Detail: "the line is no JSON object"}}
	}
	if m.format != JSONL {
		f := fields{}
		for name, value := range raw {
			if to, ok := m.table.find(name); ok {
				f.set(to, textOf(value))
			}
		}
		return m.row(number, f)
	}
	row := Row{Number: number}
	_ = json.Unmarshal(raw["slug"], &row.Slug)
	if isSet(raw["password"]) || isSet(raw[toLocked]) {
		row.Fault = lockedFault()
		return row
	}
	body := map[string]any{}
	for name, value := range raw {
		switch name {
		case "id", "short_url", "version", "created_at", "updated_at", toLocked, "password", "find_or_create":
		default:
			body[name] = value
		}
	}
	if m.options.Domain != "" {
		body["domain"] = m.options.Domain
	}
	return m.finish(row, body)
}

func lockedFault() *Fault {
	return &Fault{Reason: link.CodeNotAllowed, Detail: "password: passwords are not imported, and without it the link would be open to everybody; create it and set one"}
}

func isSet(raw json.RawMessage) bool {
	text := string(bytes.TrimSpace(raw))
	return text != "" && text != "null" && text != "false" && text != `""`
}

// textOf is what a cell would hold of a member of another tool's JSON.
func textOf(raw json.RawMessage) string {
	var s string
	switch {
	case json.Unmarshal(raw, &s) == nil:
		return s
	case string(raw) == "null":
		return ""
	}
	return string(raw)
}

// pathOf is the slug of a short address, with or without scheme.
func pathOf(address string) string {
	var list []string
	if json.Unmarshal([]byte(address), &list) == nil && len(list) > 0 { // custom_bitlinks
		address = list[0]
	}
	address, _, _ = strings.Cut(strings.TrimSpace(address), ",")
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	address, _, _ = strings.Cut(address, "?")
	address, _, _ = strings.Cut(address, "#")
	_, path, ok := strings.Cut(address, "/")
	if !ok {
		return strings.TrimSpace(address) // a slug alone
	}
	if decoded, err := url.PathUnescape(path); err == nil {
		path = decoded
	}
	return strings.Trim(path, "/")
}

// tagsOf splits a cell. A list in JSON is for tags that hold a separator.
func tagsOf(cell string) []string {
	var list []string
	if strings.HasPrefix(cell, "[") && json.Unmarshal([]byte(cell), &list) == nil {
		return list
	}
	return strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(tagSeparators, r) })
}

const tagSeparators = ",;|"

// The following leave what they cannot read as it is: the API says what is wrong with it.

func numberOf(cell string) any {
	if n, err := strconv.ParseInt(cell, 10, 64); err == nil {
		return n
	}
	return cell
}

func isFalse(cell string) bool {
	switch strings.ToLower(cell) {
	case "false", "0", "no", "n", "f", "null":
		return true
	}
	return false
}

func boolOf(cell string) any {
	switch strings.ToLower(cell) {
	case "true", "1", "yes", "y", "t":
		return true
	}
	if isFalse(cell) {
		return false
	}
	return cell
}

// timeOf reads what tools write. Without a zone it is UTC.
func timeOf(cell string) any {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05.999999-07", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, cell); err == nil {
			return t.UTC().Format(time.RFC3339Nano)
		}
	}
	return cell
}

func jsonOf(cell string) any {
	if json.Valid([]byte(cell)) {
		return json.RawMessage(cell)
	}
	return cell
}

func utmOf(f fields) map[string]string {
	utm := map[string]string{}
	for _, name := range []string{"source", "medium", "campaign", "term", "content"} {
		if value := strings.TrimSpace(f["utm_"+name]); value != "" {
			utm[name] = value
		}
	}
	return utm
}

// history is the line in the notes that keeps what another tool knew.
func (m *rowMaker) history(f fields) string {
	name := m.format.name()
	if name == "" {
		return ""
	}
	text := "Imported from " + name
	if created := strings.TrimSpace(f[toCreated]); created != "" {
		text += ", created " + created
	}
	if clicks := strings.TrimSpace(f[toClicks]); clicks != "" {
		text += fmt.Sprintf(", %s clicks there", clicks)
	}
	return text + "."
}
