package transfer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

// File is what is known of a file once it has been read.
type File struct {
	Format  Format
	Charset string
	Ignored []string
	Rows    int64
}

// Split reads a file and hands its rows out in chunks that are made in one transaction
// each. It fails with FileError, ErrTooLarge, what the file's reader says, or what take
// says. It holds one chunk at a time.
func Split(ctx context.Context, file io.Reader, o Options, most Limits, take func(chunk int, rows []Row) error) (File, error) {
	bounded := &boundedReader{r: file, left: most.Bytes}
	r, charset, err := decoded(bounded)
	if err != nil {
		return File{}, err
	}
	s := &splitter{ctx: ctx, r: r, most: most.Rows, known: File{Format: o.Format, Charset: charset}, take: take}
	head, _ := r.Peek(512)
	if isJSON := bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")); isJSON || o.Format == JSONL {
		err = s.lines(o)
	} else {
		err = s.table(o)
	}
	if err == nil {
		err = s.flush()
	}
	if err == nil && s.known.Rows == 0 {
		err = FileError("the file has no rows")
	}
	return s.known, err
}

type splitter struct {
	ctx   context.Context //nolint:containedctx // it lives as long as the one call of Split
	r     *bufio.Reader
	most  int64
	known File
	take  func(chunk int, rows []Row) error

	chunk, size int
	rows        []Row
}

func (s *splitter) add(row Row) error {
	if s.known.Rows++; s.known.Rows > s.most {
		return ErrTooLarge
	}
	s.rows = append(s.rows, row)
	if s.size += len(row.Link) + len(row.Slug) + 100; len(s.rows) >= chunkRows || s.size >= chunkBytes {
		return s.flush()
	}
	return nil
}

func (s *splitter) flush() error {
	if len(s.rows) == 0 {
		return nil
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	err := s.take(s.chunk, s.rows)
	s.chunk, s.size, s.rows = s.chunk+1, 0, s.rows[:0]
	return err
}

// table reads CSV.
func (s *splitter) table(o Options) error {
	records := newCSVReader(s.r)
	names, err := records.next()
	switch {
	case errors.Is(err, io.EOF):
		return FileError("the file is empty")
	case errors.Is(err, errLongRow):
		return FileError("the first line is too long to be one of names")
	case err != nil:
		return err
	}
	first := append([]string(nil), names...)
	s.text(first)
	var pending []string
	if o.Format == YOURLS && len(first) > 1 && strings.Contains(first[1], "://") {
		pending, first = first, yourlsColumns[:min(len(first), len(yourlsColumns))]
	}
	if o.Format == Auto {
		o.Format = guess(first)
	}
	s.known.Format = o.Format
	m := &rowMaker{options: o, format: o.Format, table: tableOf(o.Format)}
	if s.known.Ignored, err = m.head(first); err != nil {
		return err
	}
	if pending != nil {
		if err := s.add(m.cells(records.number, pending)); err != nil {
			return err
		}
	}
	for {
		cells, err := records.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLongRow):
			return FileError(fmt.Sprintf("row %d is longer than %d KiB: is there a quote that is never closed?", records.number+1, maxRow>>10))
		case err != nil:
			return err
		}
		s.text(cells)
		if err := s.add(m.cells(records.number, cells)); err != nil {
			return err
		}
	}
}

// text makes sure that texts are UTF-8.
func (s *splitter) text(texts []string) {
	if toUTF8(texts) {
		s.known.Charset = charset1252
	}
}

// lines reads JSON lines.
func (s *splitter) lines(o Options) error {
	if o.Format == Auto || o.Format == CSV {
		o.Format = JSONL
	}
	s.known.Format = o.Format
	m := &rowMaker{options: o, format: o.Format, table: tableOf(o.Format)}
	for number := int64(1); ; number++ {
		line, err := readLine(s.r)
		if len(bytes.TrimSpace(line)) > 0 {
			texts := []string{string(line)}
			s.text(texts)
			if err := s.add(m.object(number, []byte(texts[0]))); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLongRow):
			if err := s.add(Row{Number: number, Fault: &Fault{Reason: link.CodeTooLong, Detail: "the line is too long"}}); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
}

// readLine returns the next line of at most maxRow bytes, with errLongRow after skipping
// a longer one, or what the reader says with the rest.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for long := false; ; {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > maxRow {
			long, line = true, nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil && long:
			return nil, errLongRow
		}
		return line, err
	}
}

// boundedReader fails after so many bytes instead of ending: half a file is a wrong file.
type boundedReader struct {
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}
