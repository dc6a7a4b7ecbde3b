package sender

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/pierrec/lz4/v4"

	"github.com/linkstream/linkstream/services/redirect/internal/journal"
	"github.com/linkstream/linkstream/services/redirect/internal/yield"
)

// Layout and constants of Kafka's record batch, version 2.
const (
	batchHeader     = 61
	batchLengthFrom = 12       // what the length counts starts here
	batchSumFrom    = 21       // what the checksum covers starts here
	attributes      = 3 | 1<<4 // lz4, transactional
	noKey           = 0x01     // -1, zigzag
)

// lz4Step is how much is compressed in one go, about 0.2 ms: between two steps
// others may have the core.
const lz4Step = 64 << 10

// producer is what the broker knows this sender by.
type producer struct {
	id    int64
	epoch int16
}

// encoder makes record batches. It keeps its buffers.
type encoder struct {
	table   *crc32.Table
	records []byte
	lz4     *lz4.Writer
}

func newEncoder() (*encoder, error) {
	w := lz4.NewWriter(nil)
	// The batch has a checksum of its own.
	if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1)); err != nil {
		return nil, fmt.Errorf("setting up the compression: %w", err)
	}
	return &encoder{table: crc32.MakeTable(crc32.Castagnoli), lz4: w}, nil
}

// encode writes the clicks of a payload as a batch into out, which is reset first.
// It says how many there were.
func (e *encoder) encode(out *bytes.Buffer, payload []byte, p producer, sequence int32, unixMillis int64) (int, error) {
	out.Reset()
	var header [batchHeader]byte
	out.Write(header[:]) // filled in below; a buffer has no errors
	count, err := e.compress(out, payload)
	if err != nil {
		return 0, err
	}
	b := out.Bytes()
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-batchLengthFrom))
	binary.BigEndian.PutUint32(b[12:], 0xffffffff) // leader epoch: unknown
	b[16] = 2                                      // version
	binary.BigEndian.PutUint16(b[21:], attributes)
	binary.BigEndian.PutUint32(b[23:], uint32(count-1)) // last offset
	binary.BigEndian.PutUint64(b[27:], uint64(unixMillis))
	binary.BigEndian.PutUint64(b[35:], uint64(unixMillis))
	binary.BigEndian.PutUint64(b[43:], uint64(p.id))
	binary.BigEndian.PutUint16(b[51:], uint16(p.epoch))
	binary.BigEndian.PutUint32(b[53:], uint32(sequence))
	binary.BigEndian.PutUint32(b[57:], uint32(count))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[batchSumFrom:], e.table))
	return count, nil
}

// compress appends the records to out, step by step.
func (e *encoder) compress(out *bytes.Buffer, payload []byte) (count int, err error) {
	e.lz4.Reset(out)
	e.records = e.records[:0]
	flush := func() {
		if err == nil {
			_, err = e.lz4.Write(e.records)
		}
		e.records = e.records[:0]
		yield.ToVisitors()
	}
	for len(payload) > 0 {
		click, rest, ok := journal.NextClick(payload)
		if !ok {
			return 0, fmt.Errorf("the journal gave %d bytes that are no click", len(payload))
		}
		e.records = appendRecord(e.records, count, click)
		payload = rest
		count++
		if len(e.records) >= lz4Step {
			flush()
		}
	}
	flush()
	if err == nil {
		err = e.lz4.Close()
	}
	if err != nil {
		return 0, fmt.Errorf("compressing clicks: %w", err)
	}
	return count, nil
}

// appendRecord appends a record without key, headers or time of its own.
func appendRecord(dst []byte, number int, value []byte) []byte {
	length := 1 + 1 + varintLen(number) + 1 + varintLen(len(value)) + len(value) + 1
	dst = binary.AppendVarint(dst, int64(length))
	dst = append(dst, 0, 0) // attributes, time
	dst = binary.AppendVarint(dst, int64(number))
	dst = append(dst, noKey)
	dst = binary.AppendVarint(dst, int64(len(value)))
	dst = append(dst, value...)
	return append(dst, 0) // headers
}

// varintLen is the length of a number that is not negative as a zigzag varint.
func varintLen(n int) int {
	length := 1
	for n >= 1<<6 {
		n >>= 7
		length++
	}
	return length
}
