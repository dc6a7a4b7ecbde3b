package journal

import (
	"crypto/rand"
	"encoding/binary"
	"hash/crc32"
)

// The page of state: magic and id, then counts from the journal's birth, each a
// word that is stored in one piece, then the commit that is under way. All of it
// survives the process. Another process may die between two stores, so the counts
// are put right against the checkpoint when reading starts (Rewind).
const (
	stateMagic = 0x3154415453524a4c
	stateSize  = 4096

	offMagic    = 0
	offID       = 8
	offAppended = 32 // clicks that were appended, a lower bound
	offNext     = 40 // the first that is not settled
	offProduced = 48
	offFull     = 56
	offDamaged  = 64
	offDisk     = 72 // never appended
	offCommit   = 128
	commitSize  = 64
)

type state struct {
	mem   []byte
	table *crc32.Table
}

// load says whether the page is one of a journal.
func (s state) load() (id [16]byte, ok bool) {
	copy(id[:], s.mem[offID:])
	return id, word(s.mem, offMagic).Load() == stateMagic
}

// begin makes the page that of a new journal.
func (s state) begin(id [16]byte) {
	word(s.mem, offMagic).Store(0)
	clear(s.mem[align:])
	copy(s.mem[offID:], id[:])
	word(s.mem, offMagic).Store(stateMagic)
}

// rename gives the journal another id, keeping its counts.
func (s state) rename(id [16]byte) {
	clear(s.mem[offCommit : offCommit+commitSize])
	copy(s.mem[offID:], id[:])
}

func (s state) get(off int) uint64      { return word(s.mem, off).Load() }
func (s state) set(off int, v uint64)   { word(s.mem, off).Store(v) }
func (s state) add(off int, v uint64)   { word(s.mem, off).Add(v) }
func (s state) raise(off int, v uint64) { s.set(off, max(v, s.get(off))) }

// Commit is a transaction whose end was, or was about to be, asked for. When the
// outcome is unknown and the broker's checkpoint does not tell, the topic does: the
// transaction's first record is there or not.
type Commit struct {
	From, To  uint64   // numbers of its first click and behind its last
	Produced  uint64   // clicks produced from the journal's birth, with these
	Partition int32    // where all of its records went
	Offset    int64    // of the first one
	FirstID   [16]byte // of the first one
}

func (s state) putCommit(c Commit) {
	b := s.mem[offCommit : offCommit+commitSize]
	clear(b[60:])
	binary.LittleEndian.PutUint64(b, c.From)
	binary.LittleEndian.PutUint64(b[8:], c.To)
	binary.LittleEndian.PutUint64(b[16:], c.Produced)
	binary.LittleEndian.PutUint64(b[24:], uint64(c.Offset))
	binary.LittleEndian.PutUint32(b[32:], uint32(c.Partition))
	copy(b[36:], c.FirstID[:])
	binary.LittleEndian.PutUint32(b[60:], crc32.Checksum(b[:60], s.table))
}

func (s state) commit() (Commit, bool) {
	b := s.mem[offCommit : offCommit+commitSize]
	c := Commit{
		From: binary.LittleEndian.Uint64(b), To: binary.LittleEndian.Uint64(b[8:]), Produced: binary.LittleEndian.Uint64(b[16:]),
		Offset: int64(binary.LittleEndian.Uint64(b[24:])), Partition: int32(binary.LittleEndian.Uint32(b[32:])),
	}
	copy(c.FirstID[:], b[36:])
	return c, c.To > c.From && binary.LittleEndian.Uint32(b[60:]) == crc32.Checksum(b[:60], s.table)
}

func newID() (id [16]byte) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}
