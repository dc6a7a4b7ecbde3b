package journal

import (
	"encoding/binary"
	"hash/crc32"
	"sync/atomic"
	"unsafe"
)

// A block is its header, then the payload, then nothing up to the next multiple of
// eight. Numbers are little-endian.
//
//	0   length of the payload, then the checksum of the rest of the header and of
//	    the length: together the word that is stored last
//	8   number of the first click
//	16  how many clicks
//	20  checksum of the payload
//	24  time of the first click, Unix microseconds
const (
	blockHeader = 32
	align       = 8
	// prefix is the length in front of every click of a payload.
	prefix = 4
	// MaxPayload is the longest payload of a block: what a reader copies, checks
	// and compresses in one go, well below a millisecond.
	MaxPayload = 256 << 10
)

// block is a block's header.
type block struct {
	length     int    // of the payload
	first      uint64 // number of the first click
	count      uint32
	sum        uint32 // of the payload
	unixMicros int64
}

func (b block) end() uint64 { return b.first + uint64(b.count) }

// size is what the block takes with header and padding.
func (b block) size() int { return blockSize(b.length) }

func blockSize(payload int) int { return (blockHeader + payload + align - 1) &^ (align - 1) }

// castagnoli has instructions of its own on both architectures that matter.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// word is the eight bytes at an offset (a multiple of eight) of a mapping, which is
// aligned to a page. Only through it can eight bytes of a file be stored in one
// piece.
func word(mem []byte, off int) *atomic.Uint64 {
	_ = mem[off+7]
	return (*atomic.Uint64)(unsafe.Pointer(&mem[off])) //nolint:gosec // see above
}

// headerSum is the checksum of a header's fields, begun with the payload's length so
// that it covers that, too.
func headerSum(table *crc32.Table, header []byte, length uint32) uint32 {
	return crc32.Update(length, table, header[8:blockHeader])
}

// put writes a block at mem[off:], where there is room, and publishes it.
func put(table *crc32.Table, mem []byte, off int, b block, payload []byte) {
	header := mem[off : off+blockHeader]
	copy(mem[off+blockHeader:], payload)
	binary.LittleEndian.PutUint64(header[8:], b.first)
	binary.LittleEndian.PutUint32(header[16:], b.count)
	binary.LittleEndian.PutUint32(header[20:], b.sum)
	binary.LittleEndian.PutUint64(header[24:], uint64(b.unixMicros))
	sum := headerSum(table, header, uint32(len(payload)))
	word(mem, off).Store(uint64(sum)<<32 | uint64(len(payload)))
}

// parse reads the header at mem[off:]. It says false for what is no block: a torn
// one, garbage, or none. The payload is not looked at, only that it lies in mem.
func parse(table *crc32.Table, mem []byte, off int) (block, bool) {
	if off < 0 || off%align != 0 || len(mem)-off < blockHeader {
		return block{}, false
	}
	first := word(mem, off).Load()
	length := uint32(first)
	header := mem[off : off+blockHeader]
	if length == 0 || length > MaxPayload || int(length) > len(mem)-off-blockHeader || headerSum(table, header, length) != uint32(first>>32) {
		return block{}, false
	}
	b := block{
		length:     int(length),
		first:      binary.LittleEndian.Uint64(header[8:]),
		count:      binary.LittleEndian.Uint32(header[16:]),
		sum:        binary.LittleEndian.Uint32(header[20:]),
		unixMicros: int64(binary.LittleEndian.Uint64(header[24:])),
	}
	return b, b.count > 0
}

// resync finds the next block at or behind off that holds clicks from the numbers
// [from, to): what is left of a segment behind damage.
func resync(table *crc32.Table, mem []byte, off int, from, to uint64) (int, bool) {
	for off = (off + align - 1) &^ (align - 1); off+blockHeader <= len(mem); off += align {
		if b, ok := parse(table, mem, off); ok && b.first >= from && b.end() <= to {
			return off, true
		}
	}
	return 0, false
}

// NextClick splits a payload into its first click and the rest. It says false when
// there is none, or none that fits.
func NextClick(payload []byte) (click, rest []byte, ok bool) {
	if len(payload) < prefix {
		return nil, nil, false
	}
	n := binary.LittleEndian.Uint32(payload)
	if uint64(n) > uint64(len(payload)-prefix) {
		return nil, nil, false
	}
	return payload[prefix : prefix+n], payload[prefix+n:], true
}

// OpenClick appends the room for a click's length; CloseClick fills it in once the
// click itself has been appended behind it.
func OpenClick(payload []byte) []byte { return append(payload, 0, 0, 0, 0) }

// CloseClick writes the length of the click that OpenClick made room for when the
// payload was start bytes long.
func CloseClick(payload []byte, start int) {
	binary.LittleEndian.PutUint32(payload[start:], uint32(len(payload)-start-prefix))
}
