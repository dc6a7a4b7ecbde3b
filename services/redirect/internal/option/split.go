package option

import (
	"encoding/binary"
	"math/bits"
)

// Variant is which variant of the link with this id the visitor gets, counted from 1,
// and its target; 0 for the link's own destination.
func (p Program) Variant(v *Visitor, link *[16]byte) (number int, target string) {
	if p == "" || p[atVariants] == 0 {
		return 0, ""
	}
	end, winner := int64(p.long(atEnd)), int(p[atWinner]) //nolint:gosec // as it was written
	over := end != 0 && v.Now.UnixMilli() >= end || end == 0 && winner != 0
	weights := p.word(atWeights)
	if !over && weights == 0 {
		return 0, ""
	}
	share := uint32(0)
	if !over {
		high, _ := bits.Mul64(v.hash(link), uint64(weights))
		share = uint32(high) //nolint:gosec // below weights
	}
	at := int(p.word(atFirst))
	for number := 1; number <= int(p[atVariants]); number++ {
		weight := p.word(at)
		target, next := p.text(at + 4)
		switch {
		case over && number == winner, !over && share < weight:
			return number, target
		case !over:
			share -= weight
		}
		at = next
	}
	return 0, ""
}

// hash is a number that is the visitor's own for one link: SipHash-2-4 of the address
// and the agent with the link's id as key. So it is the same at every edge, evenly
// spread, and tells nothing about the same visitor at another link.
func (v *Visitor) hash(link *[16]byte) uint64 {
	s := newSip(link)
	whole := v.Address.As16()
	s.word(binary.LittleEndian.Uint64(whole[:8]))
	s.word(binary.LittleEndian.Uint64(whole[8:]))
	return s.end(v.UserAgent, len(whole))
}

// sip is SipHash-2-4 (Aumasson, Bernstein).
type sip struct{ v0, v1, v2, v3 uint64 }

func newSip(key *[16]byte) sip {
	k0, k1 := binary.LittleEndian.Uint64(key[:8]), binary.LittleEndian.Uint64(key[8:])
	return sip{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573}
}

func (s *sip) round() {
	s.v0 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 13) ^ s.v0
	s.v0 = bits.RotateLeft64(s.v0, 32)
	s.v2 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 16) ^ s.v2
	s.v0 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 21) ^ s.v0
	s.v2 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 17) ^ s.v2
	s.v2 = bits.RotateLeft64(s.v2, 32)
}

func (s *sip) word(m uint64) {
	s.v3 ^= m
	s.round()
	s.round()
	s.v0 ^= m
}

// end takes the rest of the message, before which there were so many bytes.
func (s *sip) end(rest []byte, before int) uint64 {
	last := uint64(before+len(rest)) << 56
	for ; len(rest) >= 8; rest = rest[8:] {
		s.word(binary.LittleEndian.Uint64(rest))
	}
	for i, c := range rest {
		last |= uint64(c) << (8 * i)
	}
	s.word(last)
	s.v2 ^= 0xff
	s.round()
	s.round()
	s.round()
	s.round()
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3
}
