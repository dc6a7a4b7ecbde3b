package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// The names of character sets, as a job shows them.
const (
	charsetUTF8    = "utf-8"
	charsetUTF16LE = "utf-16le"
	charsetUTF16BE = "utf-16be"
	charset1252    = "windows-1252"
)

// decoded reads a file as UTF-8 and says which character set its beginning shows. Bytes
// that are no UTF-8 pass: only whoever sees a whole row can tell what they are.
func decoded(file io.Reader) (*bufio.Reader, string, error) {
	r := bufio.NewReaderSize(file, 64<<10)
	head, err := r.Peek(4)
	if err != nil && len(head) == 0 {
		if errors.Is(err, io.EOF) {
			err = FileError("the file is empty")
		}
		return nil, "", err
	}
	wide := func(e unicode.Endianness, name string) (*bufio.Reader, string, error) {
		return bufio.NewReaderSize(transform.NewReader(r, unicode.UTF16(e, unicode.ExpectBOM).NewDecoder()), 64<<10), name, nil
	}
	switch {
	case bytes.HasPrefix(head, []byte{0xEF, 0xBB, 0xBF}):
		_, err := r.Discard(3)
		return r, charsetUTF8, err
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}):
		return wide(unicode.LittleEndian, charsetUTF16LE)
	case bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		return wide(unicode.BigEndian, charsetUTF16BE)
	case bytes.IndexByte(head, 0) >= 0:
		return nil, "", FileError("the file is neither UTF-8 nor Windows-1252; UTF-16 needs a byte order mark, and spreadsheets have to be saved as CSV")
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, "", FileError("the file is an archive or a spreadsheet; save it as CSV")
	}
	return r, charsetUTF8, nil
}

// toUTF8 reads texts that are no UTF-8 as Windows-1252, which has a meaning for every
// byte (five of them are control characters, which the rules refuse where it matters).
func toUTF8(texts []string) (was1252 bool) {
	for _, t := range texts {
		if !utf8.ValidString(t) {
			was1252 = true
		}
	}
	if !was1252 {
		return false
	}
	for i, t := range texts {
		if converted, err := charmap.Windows1252.NewDecoder().String(t); err == nil {
			texts[i] = converted
		}
	}
	return true
}
