package journal

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
)

// small is a journal over one small segment in memory, as a crash left it.
func small(mem []byte) (*Journal, bool) {
	table := castagnoli()
	j := &Journal{size: len(mem), table: table, log: slog.New(slog.DiscardHandler), wake: make(chan struct{}, 1)}
	j.state = state{mem: make([]byte, stateSize), table: table}
	seg := &segment{mem: mem}
	if _, used := seg.load(table); !used {
		return nil, false
	}
	seg.scan(table)
	j.live = []*segment{seg}
	j.state.set(offAppended, seg.end)
	return j, true
}

// filled is a small segment with blocks of several sizes, and where each ends.
func filled(t *testing.T) (mem []byte, ends []int, clicks []uint64) {
	t.Helper()
	mem = make([]byte, 1536)
	seg := &segment{mem: mem}
	seg.begin(castagnoli(), [16]byte{1}, 0, 1)
	j, _ := small(mem)
	var next uint64
	for _, count := range []int{1, 3, 2, 7, 1, 5} {
		if !j.Append(payload(nil, next, count, 9+count), count, 1) {
			t.Fatal("no room")
		}
		next += uint64(count)
		ends = append(ends, j.live[0].tail)
		clicks = append(clicks, next)
	}
	return mem, ends, clicks
}

// Whatever byte a crash stopped at, everything before the last whole block is read
// and nothing is invented, whether the rest is empty or garbage.
//
// Guards I30.
func TestATailTornAnywhereIsCut(t *testing.T) {
	mem, ends, clicks := filled(t)
	random := rand.New(rand.NewPCG(1, 2))
	for cut := segmentHeader; cut <= ends[len(ends)-1]+blockHeader; cut++ {
		var want uint64
		for i, end := range ends {
			if bytes.Count(mem[min(cut, end):end], []byte{0}) == end-min(cut, end) { // what is cut is padding
				want = clicks[i]
			}
		}
		for _, garbage := range []bool{false, true} {
			torn := slices.Clone(mem)
			clear(torn[cut:])
			if garbage {
				for i := cut; i < len(torn); i++ {
					torn[i] = byte(random.Uint32())
				}
			}
			j, ok := small(torn)
			if !ok {
				t.Fatalf("cut at %d: the segment is not recognised", cut)
			}
			rewind(t, j, Checkpoint{})
			all, damaged := drain(t, j)
			if damaged != 0 {
				t.Fatalf("cut at %d: %d damaged", cut, damaged)
			}
			sequence(t, all, 0, want)
			// And writing goes on: what comes next is read, too.
			if !j.Append(payload(nil, want, 2, 8), 2, 1) {
				continue // no room behind
			}
			all, _ = drain(t, j)
			sequence(t, all, want, 2)
		}
	}
}

// A byte that went bad costs its own block and no other, and those clicks are
// counted; a click that comes out is one that went in.
//
// Guards I30.
func TestABadByteCostsItsBlock(t *testing.T) {
	mem, ends, clicks := filled(t)
	total := clicks[len(clicks)-1]
	for at := range ends[len(ends)-1] {
		for _, flip := range []byte{1, 0x80, 0xff} {
			bad := slices.Clone(mem)
			bad[at] ^= flip
			j, ok := small(bad)
			if !ok {
				t.Fatalf("byte %d: the segment is not recognised", at)
			}
			j.state.set(offAppended, total)
			j.live[0].end = total
			rewind(t, j, Checkpoint{})
			all, damaged := drain(t, j)
			block := 0
			for at >= ends[block] {
				block++
			}
			var first uint64
			if block > 0 {
				first = clicks[block-1]
			}
			want := clicks[block] - first
			if at < segmentHeader || damaged == 0 && uint64(len(all)) == total { // the header, or padding
				want = 0
			}
			if damaged != want || uint64(len(all)) != total-want {
				t.Fatalf("byte %d: %d read, %d damaged, want %d", at, len(all), damaged, want)
			}
			for i := 1; i < len(all); i++ {
				if all[i] <= all[i-1] || all[i] >= total {
					t.Fatalf("byte %d: click %d after %d", at, all[i], all[i-1])
				}
			}
			j.Settle(total, total-damaged, damaged)
			if s := adds(t, j); s.Waiting != 0 || s.Damaged != want {
				t.Fatalf("byte %d: %+v", at, s)
			}
		}
	}
}

func TestGoldenBlock(t *testing.T) {
	mem := make([]byte, 64)
	table := castagnoli()
	body := []byte("\x05\x00\x00\x00click")
	put(table, mem, 0, block{length: len(body), first: 0x0102030405060708, count: 1, sum: 0xa1a2a3a4, unixMicros: 0x1112131415161718}, body)
	want := "\x09\x00\x00\x00" + string(mem[4:8]) + "\x08\x07\x06\x05\x04\x03\x02\x01\x01\x00\x00\x00\xa4\xa3\xa2\xa1\x18\x17\x16\x15\x14\x13\x12\x11" + string(body)
	if got := string(mem[:blockHeader+len(body)]); got != want {
		t.Errorf("got  %x\nwant %x", got, want)
	}
	if b, ok := parse(table, mem, 0); !ok || b.size() != 48 || b.end() != 0x0102030405060709 {
		t.Errorf("read as %+v %v", b, ok)
	}
}

func FuzzSegment(f *testing.F) {
	mem := make([]byte, 1024)
	(&segment{mem: mem}).begin(castagnoli(), [16]byte{1}, 7, 1)
	if j, ok := small(mem); ok {
		j.Append(payload(nil, 7, 3, 10), 3, 1)
		j.Append(payload(nil, 10, 1, 100), 1, 1)
	}
	f.Add(slices.Clone(mem))
	f.Add([]byte("\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		mem := make([]byte, (max(len(data), segmentHeader+blockHeader)+align-1)&^(align-1))
		copy(mem, data)
		j, ok := small(mem)
		if !ok {
			return
		}
		rewind(t, j, Checkpoint{})
		var last uint64
		for {
			c, ok := j.Take(nil, 64)
			if !ok {
				break
			}
			numbersOfAnySize(t, c)
			if c.From < last || c.To <= c.From {
				t.Fatalf("%d-%d after %d", c.From, c.To, last)
			}
			last = c.To
		}
	})
}

func numbersOfAnySize(t *testing.T, c Chunk) {
	t.Helper()
	n := 0
	for rest := c.Payload; len(rest) > 0; n++ {
		var ok bool
		if _, rest, ok = NextClick(rest); !ok {
			t.Fatal("a chunk is cut")
		}
	}
	if n != c.Clicks {
		t.Fatalf("%d clicks, said to be %d", n, c.Clicks)
	}
}
