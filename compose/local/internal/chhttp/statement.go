package chhttp

import "strings"

// insert is an INSERT whose rows follow its FORMAT clause.
type insert struct {
	head   string // the statement up to its FORMAT clause
	format string
	data   int // where the rows begin in the text
}

// splitInsert finds the FORMAT clause of an INSERT. INSERT ... VALUES and INSERT ... SELECT are ordinary statements:
// the engine reads them whole.
func splitInsert(text string) (insert, bool) {
	s := scanner{text: text}
	word, ok := s.next()
	if !ok || !strings.EqualFold(word, "INSERT") {
		return insert{}, false
	}
	depth, words := 0, 0
	for {
		word, ok = s.next()
		if !ok {
			return insert{}, false
		}
		switch word {
		case "(":
			depth++
			continue
		case ")":
			depth--
			continue
		}
		words++
		if depth > 0 || words <= 2 { // INTO and the table, which may have any name
			continue
		}
		switch strings.ToUpper(word) {
		case "VALUES", "SELECT", "WITH", "WATCH", "INFILE":
			return insert{}, false
		case "FORMAT":
			head := text[:s.start]
			format, ok := s.next()
			if !ok || strings.EqualFold(format, "VALUES") {
				return insert{}, false
			}
			return insert{head: head, format: format, data: dataStart(text, s.end)}, true
		}
	}
}

// reads says whether a statement changes nothing.
func reads(text string) bool {
	s := scanner{text: text}
	word, ok := s.next()
	for ok && word == "(" {
		word, ok = s.next()
	}
	switch strings.ToUpper(word) {
	case "SELECT", "WITH", "SHOW", "DESC", "DESCRIBE", "EXISTS", "EXPLAIN":
		return true
	default:
		return false
	}
}

// dataStart skips the blanks and the one line end that part a FORMAT clause from the rows, as the server does.
func dataStart(text string, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	if at < len(text) && text[at] == ';' {
		at++
	}
	if at < len(text) && text[at] == '\r' {
		at++
	}
	if at < len(text) && text[at] == '\n' {
		at++
	}
	return at
}

// outputFormat is the format named by the statement's own FORMAT clause.
func outputFormat(text string) (string, bool) {
	s := scanner{text: text}
	depth := 0
	for {
		word, ok := s.next()
		if !ok {
			return "", false
		}
		switch {
		case word == "(":
			depth++
		case word == ")":
			depth--
		case depth == 0 && strings.EqualFold(word, "FORMAT"):
			after := s
			format, ok := after.next()
			if !ok {
				return "", false
			}
			// A column may be called format: only what ends the statement is the clause.
			if end, more := after.next(); !more || end == ";" || strings.EqualFold(end, "SETTINGS") {
				return format, true
			}
		}
	}
}

// scanner walks over the words and signs of a statement, past white space and comments. A quoted text is one word,
// quotes included. An unfinished quote or comment ends the walk: the engine will say what is wrong with it.
type scanner struct {
	text       string
	start, end int // of the last word
}

func (s *scanner) next() (string, bool) {
	at := s.skipBlank(s.end)
	if at < 0 || at >= len(s.text) {
		return "", false
	}
	end := at + 1
	switch c := s.text[at]; {
	case c == '\'' || c == '"' || c == '`':
		end = endOfQuote(s.text, at)
	case isWord(c):
		for end < len(s.text) && isWord(s.text[end]) {
			end++
		}
	}
	if end < 0 {
		return "", false
	}
	s.start, s.end = at, end
	return s.text[at:end], true
}

func (s *scanner) skipBlank(at int) int {
	for at < len(s.text) {
		rest := s.text[at:]
		switch {
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "#!"), strings.HasPrefix(rest, "# "):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				return -1
			}
			at += n + 1
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest, "*/")
			if n < 0 {
				return -1
			}
			at += n + len("*/")
		case strings.IndexByte(" \t\r\n\v\f", rest[0]) >= 0:
			at++
		default:
			return at
		}
	}
	return at
}

func endOfQuote(text string, at int) int {
	quote := text[at]
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return -1
}

func isWord(c byte) bool {
	return c == '_' || c == '.' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
