package transfer

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// csvReader reads records of RFC 4180, kindly: lines end with CR, LF or both, a quote
// inside of a cell without quotes is itself, and empty lines are no records. Unlike
// encoding/csv it keeps CR LF inside of quotes, so that what was exported comes back
// unchanged, and it holds maxRow bytes at most.
type csvReader struct {
	r         *bufio.Reader
	separator byte
	number    int64
	cell      []byte
	cells     []string
}

// errLongRow says that a record is longer than maxRow. What follows cannot be told apart
// from it.
var errLongRow = errors.New("the row is too long")

// separators are tried in this order; the first wins a tie.
const separators = ",;\t|"

// newCSVReader looks at the first line for the separator.
func newCSVReader(r *bufio.Reader) *csvReader {
	head, _ := r.Peek(r.Size())
	counts := [len(separators)]int{}
	quoted := false
loop:
	for _, b := range head {
		switch {
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '\n' || b == '\r':
			break loop
		default:
			if i := strings.IndexByte(separators, b); i >= 0 {
				counts[i]++
			}
		}
	}
	best := 0
	for i, n := range counts {
		if n > counts[best] {
			best = i
		}
	}
	return &csvReader{r: r, separator: separators[best]}
}

// next returns the next record, io.EOF, errLongRow, or what the file's reader says. The
// cells are valid until the next call.
func (c *csvReader) next() ([]string, error) {
	for {
		cells, err := c.record()
		if err != nil {
			return nil, err
		}
		c.number++
		if len(cells) > 1 || cells[0] != "" {
			return cells, nil
		}
	}
}

func (c *csvReader) record() ([]string, error) {
	c.cells, c.cell = c.cells[:0], c.cell[:0]
	size, quoted, started := 0, false, false
	end := func() { c.cells, c.cell, started = append(c.cells, string(c.cell)), c.cell[:0], false }
	for {
		b, err := c.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			switch {
			case quoted:
				return nil, FileError("a quote is opened and never closed")
			case size == 0:
				return nil, io.EOF
			}
			end()
			return c.cells, nil
		case err != nil:
			return nil, err
		}
		if size++; size > maxRow {
			return nil, errLongRow
		}
		switch {
		case quoted && b == '"':
			if next, _ := c.r.Peek(1); len(next) == 1 && next[0] == '"' {
				_, _ = c.r.Discard(1)
				c.cell = append(c.cell, '"')
			} else {
				quoted = false
			}
		case quoted:
			c.cell = append(c.cell, b)
		case b == '"' && !started:
			quoted, started = true, true
		case b == c.separator:
			end()
		case b == '\n' || b == '\r':
			if next, _ := c.r.Peek(1); b == '\r' && len(next) == 1 && next[0] == '\n' {
				_, _ = c.r.Discard(1)
			}
			end()
			return c.cells, nil
		default:
			c.cell, started = append(c.cell, b), true
		}
	}
}

// appendLine adds a record with CR LF, as RFC 4180 has it. A cell is quoted when it has to
// be, or begins or ends with a space, which some readers would drop.
func appendLine(line []byte, cells ...string) []byte {
	for i, cell := range cells {
		if i > 0 {
			line = append(line, ',')
		}
		if !strings.ContainsAny(cell, ",;|\t\"\r\n") && strings.TrimSpace(cell) == cell && (cell != "" || len(cells) > 1) {
			line = append(line, cell...)
			continue
		}
		line = append(line, '"')
		line = append(line, strings.ReplaceAll(cell, `"`, `""`)...)
		line = append(line, '"')
	}
	return append(line, '\r', '\n')
}

// Spreadsheets take a cell that begins with one of these for a formula, and so do some
// with the wide forms of them.
const formulaBegins = "=+-@\t\r\n＝＋－＠"

func looksLikeFormula(s string) bool {
	rest := strings.TrimLeft(s, "'")
	return rest != "" && strings.IndexAny(rest, formulaBegins) == 0
}

// Harmless puts an apostrophe before what a spreadsheet would calculate. unharmed takes it
// away again: of any text it makes the same text.
func Harmless(s string) string {
	if looksLikeFormula(s) {
		return "'" + s
	}
	return s
}

func unharmed(s string) string {
	if strings.HasPrefix(s, "'") && looksLikeFormula(s) {
		return s[1:]
	}
	return s
}
