package journal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A segment's header: magic, the journal's id, number of its first click, time of
// its first use, checksum.
const (
	segmentMagic  = 0x314c4e524a4b434c // "LCKJRNL1" in the file
	segmentHeader = 64
	segmentSuffix = ".clicks"
)

// segment is one mapped file. Its fields are the journal's, under its lock; mem is
// never unmapped while the journal is open, except of a spare one.
type segment struct {
	path  string
	mem   []byte
	base  uint64 // number of the first click
	end   uint64 // number behind the last click, once known (the newest one's always is)
	tail  int    // where the next block goes
	since int64  // Unix seconds of the first use
}

// openSegment maps a file, made when it is not there.
func openSegment(path string, size int) (*segment, error) {
	mem, err := openMapped(path, size)
	if err != nil {
		return nil, err
	}
	return &segment{path: path, mem: mem}, nil
}

// begin makes the segment the one that starts with click base. Whatever it held is
// gone once the magic is overwritten.
func (s *segment) begin(table *crc32.Table, id [16]byte, base uint64, now int64) {
	word(s.mem, 0).Store(0)
	copy(s.mem[8:24], id[:])
	binary.LittleEndian.PutUint64(s.mem[24:], base)
	binary.LittleEndian.PutUint64(s.mem[32:], uint64(now))
	binary.LittleEndian.PutUint64(s.mem[40:], uint64(crc32.Checksum(s.mem[8:40], table)))
	word(s.mem, segmentHeader).Store(0) // no block that was here before starts the segment
	word(s.mem, 0).Store(segmentMagic)
	s.base, s.end, s.tail, s.since = base, base, segmentHeader, now
}

// load reads the header. It says false for a segment that is not in use.
func (s *segment) load(table *crc32.Table) (id [16]byte, used bool) {
	magic := word(s.mem, 0).Load()
	if magic == 0 {
		return id, false
	}
	s.tail = len(s.mem)
	if magic == segmentMagic && binary.LittleEndian.Uint64(s.mem[40:]) == uint64(crc32.Checksum(s.mem[8:40], table)) {
		copy(id[:], s.mem[8:24])
		s.base, s.since = binary.LittleEndian.Uint64(s.mem[24:]), int64(binary.LittleEndian.Uint64(s.mem[32:]))
		return id, true
	}
	// A damaged header costs nothing: its first block says the same.
	off, ok := resync(table, s.mem, segmentHeader, 0, 1<<63)
	if !ok {
		return id, false
	}
	b, _ := parse(table, s.mem, off)
	s.base = b.first
	return id, true
}

// scan finds the end of the newest segment: behind its last block. It says whether
// the place behind it is untouched, so that blocks can go on there.
func (s *segment) scan(table *crc32.Table) (clean bool) {
	s.end, s.tail = s.base, segmentHeader
	for {
		b, ok := parse(table, s.mem, s.tail)
		if ok && b.first == s.end && crc32.Checksum(s.mem[s.tail+blockHeader:s.tail+blockHeader+b.length], table) == b.sum {
			s.end = b.end()
			s.tail += b.size()
			continue
		}
		// Damage in the middle, or the end: is there anything newer behind it?
		off, more := resync(table, s.mem, s.tail+align, s.end+1, 1<<63)
		if !more {
			break
		}
		b, _ = parse(table, s.mem, off)
		s.end, s.tail = b.end(), off+b.size()
	}
	for _, c := range s.mem[s.tail:min(s.tail+blockHeader, len(s.mem))] {
		if c != 0 {
			return false
		}
	}
	return true
}

func (s *segment) room() int { return len(s.mem) - s.tail }

// drop unmaps and removes a spare segment.
func (s *segment) drop() error {
	if err := unix.Munmap(s.mem); err != nil {
		return fmt.Errorf("unmapping %s: %w", s.path, err)
	}
	if err := os.Remove(s.path); err != nil {
		return fmt.Errorf("removing a segment: %w", err)
	}
	return nil
}

// segmentPaths are the segments in a directory.
func segmentPaths(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing segments: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), segmentSuffix) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}
