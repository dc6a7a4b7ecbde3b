package chhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ClickHouse/ch-go/compress"
	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
)

// frameSize is how much goes into one compressed frame: the server's max_compress_block_size.
const frameSize = 1 << 20

// errUnsupportedBlock says that a result holds a column which the Go driver's own codec does not know.
var errUnsupportedBlock = errors.New("re-encoding a Native block")

// encodeNative writes blocks of the engine's Native format (revision 0) in the revision the client asked for.
// A real server is told the client's revision; the embedded engine has no way to be told.
func encodeNative(w io.Writer, native []byte, revision uint64) error {
	reader := chproto.NewReader(bytes.NewReader(native))
	buffer := &chproto.Buffer{}
	for {
		block := proto.Block{ServerContext: &column.ServerContext{Timezone: time.UTC, Revision: revision}}
		if err := block.Decode(reader, 0); err != nil {
			if errors.Is(err, io.EOF) && block.Columns == nil {
				return nil // the end, between two blocks
			}
			return fmt.Errorf("%w: %w", errUnsupportedBlock, err)
		}
		buffer.Reset()
		if err := block.Encode(buffer, revision); err != nil {
			return fmt.Errorf("%w: %w", errUnsupportedBlock, err)
		}
		if _, err := w.Write(buffer.Buf); err != nil {
			return fmt.Errorf("writing the answer: %w", err)
		}
	}
}

// frames compresses what is written to it into ClickHouse's own frames.
type frames struct {
	to     io.Writer
	with   *compress.Writer
	buffer []byte
}

func (f *frames) Write(p []byte) (int, error) {
	f.buffer = append(f.buffer, p...)
	for len(f.buffer) >= frameSize {
		if err := f.emit(f.buffer[:frameSize]); err != nil {
			return 0, err
		}
		f.buffer = append(f.buffer[:0], f.buffer[frameSize:]...)
	}
	return len(p), nil
}

// Flush writes the last, shorter frame.
func (f *frames) Flush() error {
	if len(f.buffer) == 0 {
		return nil
	}
	return f.emit(f.buffer)
}

func (f *frames) emit(p []byte) error {
	if err := f.with.Compress(p); err != nil {
		return fmt.Errorf("compressing the answer: %w", err)
	}
	if _, err := f.to.Write(f.with.Data); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}
