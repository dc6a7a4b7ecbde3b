package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// AppendJSON implements httpapi.Appender: a thousand links at a time, as encoding/json
// writes them, in a third of the time (BenchmarkAppend).
func (b bulkOutputBody) AppendJSON(to []byte) (_ []byte, err error) {
	if to == nil {
		const each = 700 // a link without options has so many bytes
		to = make([]byte, 0, each*len(b.Results))
	}
	to = append(to, `{"results":[`...)
	for i := range b.Results {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = b.Results[i].append(to); err != nil {
			return nil, err
		}
	}
	return append(to, `]}`...), nil
}

func (r *bulkResult) append(to []byte) (_ []byte, err error) {
	to = strconv.AppendInt(append(to, `{"index":`...), int64(r.Index), 10)
	to = strconv.AppendInt(append(to, `,"status":`...), int64(r.Status), 10)
	to = append(to, `,"link":`...)
	switch {
	case r.Link == nil:
		to = append(to, `null`...)
	case r.Link.plain():
		to = r.Link.append(to)
	default:
		if to, err = appendAny(to, r.Link); err != nil {
			return nil, err
		}
	}
	to = append(to, `,"error":`...)
	if r.Error == nil {
		to = append(to, `null`...)
	} else if to, err = appendAny(to, r.Error); err != nil {
		return nil, err
	}
	return append(to, '}'), nil
}

// plain says that append can write the link: it has none of the options that are objects,
// no times that JSON has no words for, and no text that is not UTF-8.
func (v *linkView) plain() bool {
	for _, text := range [...]string{v.ID, v.ShortURL, v.Domain, v.Slug, v.Destination, v.Title, v.Notes, v.ForwardQuery} {
		if !plainText(text) {
			return false
		}
	}
	for _, tag := range v.Tags {
		if !plainText(tag) {
			return false
		}
	}
	for _, at := range [...]*time.Time{v.StartsAt, v.ExpiresAt, v.VariantsEndAt, &v.CreatedAt, &v.UpdatedAt} {
		if at != nil && (at.Location() != time.UTC || at.Year() < 0 || at.Year() > 9999) {
			return false
		}
	}
	return v.Tags != nil && (v.FallbackURL == nil || plainText(*v.FallbackURL)) && v.UTM.value == nil && v.Preview.value == nil &&
		v.Rules != nil && len(v.Rules) == 0 && v.Variants != nil && len(v.Variants) == 0
}

// append writes a plain link; the members are in the order of linkView.
func (v *linkView) append(to []byte) []byte {
	to = appendText(append(to, `{"id":`...), v.ID)
	to = appendText(append(to, `,"short_url":`...), v.ShortURL)
	to = appendText(append(to, `,"domain":`...), v.Domain)
	to = appendText(append(to, `,"slug":`...), v.Slug)
	to = appendText(append(to, `,"destination":`...), v.Destination)
	to = appendText(append(to, `,"title":`...), v.Title)
	to = append(to, `,"tags":[`...)
	for i, tag := range v.Tags {
		if i > 0 {
			to = append(to, ',')
		}
		to = appendText(to, tag)
	}
	to = appendText(append(to, `],"notes":`...), v.Notes)
	to = strconv.AppendInt(append(to, `,"status_code":`...), int64(v.StatusCode), 10)
	to = appendTime(append(to, `,"starts_at":`...), v.StartsAt)
	to = appendTime(append(to, `,"expires_at":`...), v.ExpiresAt)
	to = append(to, `,"fallback_url":`...)
	if v.FallbackURL == nil {
		to = append(to, `null`...)
	} else {
		to = appendText(to, *v.FallbackURL)
	}
	to = strconv.AppendBool(append(to, `,"archived":`...), v.Archived)
	to = appendText(append(to, `,"forward_query":`...), v.ForwardQuery)
	to = v.OptionsView.append(to)
	to = strconv.AppendUint(append(to, `,"version":`...), v.Version, 10)
	to = appendTime(append(to, `,"created_at":`...), &v.CreatedAt)
	to = appendTime(append(to, `,"updated_at":`...), &v.UpdatedAt)
	return append(to, '}')
}

func (v *OptionsView) append(to []byte) []byte {
	to = strconv.AppendBool(append(to, `,"disabled":`...), v.Disabled)
	to = append(to, `,"max_clicks":`...)
	if v.MaxClicks == nil {
		to = append(to, `null`...)
	} else {
		to = strconv.AppendInt(to, *v.MaxClicks, 10)
	}
	to = strconv.AppendBool(append(to, `,"has_password":`...), v.HasPassword)
	to = strconv.AppendBool(append(to, `,"forward_path":`...), v.ForwardPath)
	to = append(to, `,"utm":null,"rules":[],"variants":[]`...)
	to = appendTime(append(to, `,"variants_end_at":`...), v.VariantsEndAt)
	to = append(to, `,"variants_winner":`...)
	if v.VariantsWinner == nil {
		to = append(to, `null`...)
	} else {
		to = strconv.AppendInt(to, int64(*v.VariantsWinner), 10)
	}
	return append(to, `,"preview":null`...)
}

// appendAny writes what there is no shorter way for.
func appendAny(to []byte, v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("writing a result: %w", err)
	}
	return append(to, bytes.TrimSuffix(text.Bytes(), []byte{'\n'})...), nil
}

func appendTime(to []byte, at *time.Time) []byte {
	if at == nil {
		return append(to, `null`...)
	}
	return append(at.AppendFormat(append(to, '"'), time.RFC3339Nano), '"')
}

// plainText says that encoding/json escapes nothing of a text but quotes and backslashes.
func plainText(s string) bool {
	ascii := true
	for i := range len(s) {
		if s[i] < ' ' {
			return false
		}
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	return ascii || utf8.ValidString(s) && !strings.ContainsAny(s, "\u2028\u2029")
}

func appendText(to []byte, s string) []byte {
	to = append(to, '"')
	from := 0
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			to = append(append(to, s[from:i]...), '\\')
			from = i
		}
	}
	return append(append(to, s[from:]...), '"')
}
