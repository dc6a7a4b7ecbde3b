package api

import (
	"encoding/json"
	"strings"
)

// cursor walks over JSON of which is known that it is valid. It says false where it does
// not go on; then the place does not matter any more.
type cursor struct {
	text string
	at   int
}

// next is the next byte that is no white space, or 0 at the end.
func (c *cursor) next() byte {
	for ; c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}
	return 0
}

func (c *cursor) take(b byte) bool {
	if c.next() != b {
		return false
	}
	c.at++
	return true
}

// word takes one of the words, which are no beginnings of others, and says which, or -1.
func (c *cursor) word(words ...string) int {
	c.next()
	for i, word := range words {
		rest, ok := strings.CutPrefix(c.text[c.at:], word)
		if ok && (rest == "" || strings.IndexByte(",}] \t\n\r", rest[0]) >= 0) {
			c.at += len(word)
			return i
		}
	}
	return -1
}

// literal takes a string as it is written, with its quotes, and says whether anything in
// it is escaped.
func (c *cursor) literal() (written string, escaped, ok bool) {
	if c.next() != '"' {
		return "", false, false
	}
	from := c.at
	for at := from + 1; ; {
		n := strings.IndexByte(c.text[at:], '"')
		if n < 0 {
			return "", false, false
		}
		part := c.text[at : at+n]
		at += n + 1
		if strings.IndexByte(part, '\\') >= 0 {
			escaped = true
		}
		back := len(part) - len(strings.TrimRight(part, `\`))
		if back%2 == 0 { // the quote itself is not escaped
			c.at = at
			return c.text[from:at], escaped, true
		}
	}
}

// string takes a string.
func (c *cursor) string() (value string, ok bool) {
	written, escaped, ok := c.literal()
	if !ok {
		return "", false
	}
	if !escaped {
		return written[1 : len(written)-1], true
	}
	return value, json.Unmarshal([]byte(written), &value) == nil
}

func (c *cursor) strings() ([]string, bool) {
	list := []string{}
	if !c.take('[') {
		return nil, false
	}
	for c.next() != ']' {
		if len(list) > 0 && !c.take(',') {
			return nil, false
		}
		s, ok := c.string()
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	c.at++
	return list, true
}

// skip takes any value.
func (c *cursor) skip() (value string, ok bool) {
	first := c.next()
	from := c.at
	switch first {
	case 0:
		return "", false
	case '"':
		_, _, ok = c.literal()
		return c.text[from:c.at], ok
	case '{', '[':
		return c.nested()
	}
	end := strings.IndexAny(c.text[from:], ",}] \t\n\r")
	if end < 0 {
		end = len(c.text) - from
	}
	c.at = from + end
	return c.text[from:c.at], end > 0
}

// nested takes an object or an array.
func (c *cursor) nested() (value string, ok bool) {
	from, depth := c.at, 0
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case '"':
			if _, _, ok := c.literal(); !ok {
				return "", false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		c.at++
		if depth == 0 {
			return c.text[from:c.at], true
		}
	}
	return "", false
}

// splitLinks takes the body of a bulk call apart into its links, if it has the member
// links, a list, and no other.
func splitLinks(text string) (links []string, ok bool) {
	c := cursor{text: text}
	if !c.take('{') {
		return nil, false
	}
	if name, _, ok := c.literal(); !ok || name != `"links"` || !c.take(':') || !c.take('[') {
		return nil, false
	}
	for c.next() != ']' {
		if len(links) > 0 && !c.take(',') {
			return nil, false
		}
		link, ok := c.skip()
		if !ok {
			return nil, false
		}
		links = append(links, link)
	}
	c.at++
	return links, c.take('}') && c.next() == 0
}

// plainRow reads a link whose members are plain. It says false of all others, and of
// whatever is wrong; into may be half written then. What it reads is what encoding/json
// reads of it, and it reads nothing that the schema refuses (see plainSchema).
func plainRow(text string, into *newLinkBody) bool {
	c := cursor{text: text}
	if !c.take('{') {
		return false
	}
	var seen members
	for first := true; c.next() != '}'; first = false {
		if !first && !c.take(',') {
			return false
		}
		name, escaped, ok := c.literal()
		if !ok || escaped || !c.take(':') || !c.member(name[1:len(name)-1], into, &seen) {
			return false
		}
	}
	c.at++
	return c.next() == 0 && seen.destination
}

// members are those that there is no other way to tell were sent.
type members struct{ destination bool }

// member takes one value. A member that is there twice, or is null, is not plain.
func (c *cursor) member(name string, into *newLinkBody, seen *members) (ok bool) {
	switch name {
	case "destination":
		if seen.destination {
			return false
		}
		into.Destination, seen.destination = c.string()
		return seen.destination
	case "domain":
		return c.textField(&into.Domain)
	case "slug":
		return c.textField(&into.Slug)
	case "title":
		return c.textField(&into.Title)
	case "notes":
		return c.textField(&into.Notes)
	case "fallback_url":
		return c.textField(&into.FallbackURL)
	case "tags":
		if into.Tags.Sent {
			return false
		}
		into.Tags.Value, into.Tags.Sent = c.strings()
		return into.Tags.Sent
	case "status_code":
		return c.status(&into.StatusCode)
	case "archived":
		return c.truth(&into.Archived)
	case "disabled":
		return c.truth(&into.Disabled)
	case "forward_path":
		return c.truth(&into.ForwardPath)
	case "find_or_create":
		return c.truth(&into.FindOrCreate)
	}
	return false
}

func (c *cursor) textField(f *field[string]) bool {
	if f.Sent {
		return false
	}
	f.Value, f.Sent = c.string()
	return f.Sent
}

func (c *cursor) truth(f *field[bool]) bool {
	word := c.word("false", "true")
	if f.Sent || word < 0 {
		return false
	}
	*f = field[bool]{Sent: true, Value: word == 1}
	return true
}

func (c *cursor) status(f *field[int]) bool {
	word := c.word("301", "302", "307", "308")
	if f.Sent || word < 0 {
		return false
	}
	*f = field[int]{Sent: true, Value: [...]int{301, 302, 307, 308}[word]}
	return true
}
