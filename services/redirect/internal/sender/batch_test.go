package sender

import (
	"bytes"
	"encoding/hex"
	"hash/crc32"
	"io"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/linkstream/linkstream/services/redirect/internal/journal"
)

func TestABatchIsOneOfKafkas(t *testing.T) {
	e, err := newEncoder()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	const clicksIn = 700
	payload := clicks(nil, 0, clicksIn, 300) // several steps of the compression
	count, err := e.encode(&out, payload, producer{id: 0x0102030405060708, epoch: 9}, 77, 123456)
	if err != nil || count != clicksIn {
		t.Fatalf("%d clicks, %v", count, err)
	}
	var b kmsg.RecordBatch
	if err := b.ReadFrom(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	if b.Magic != 2 || b.Attributes != 0x13 || b.ProducerID != 0x0102030405060708 || b.ProducerEpoch != 9 || b.FirstSequence != 77 ||
		b.NumRecords != clicksIn || b.LastOffsetDelta != clicksIn-1 || b.FirstTimestamp != 123456 || b.MaxTimestamp != 123456 || int(b.Length) != out.Len()-12 {
		t.Errorf("%+v", b)
	}
	if got := int32(crc32.Checksum(out.Bytes()[21:], crc32.MakeTable(crc32.Castagnoli))); got != b.CRC {
		t.Errorf("checksum %x, want %x", b.CRC, got)
	}
	raw, err := io.ReadAll(lz4.NewReader(bytes.NewReader(b.Records)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range clicksIn {
		var r kmsg.Record
		if err := r.ReadFrom(raw); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		var want []byte
		want, payload, _ = journal.NextClick(payload)
		if r.OffsetDelta != int32(i) || r.Key != nil || !bytes.Equal(r.Value, want) || len(r.Headers) != 0 {
			t.Fatalf("record %d: %+v", i, r)
		}
		raw = skip(raw)
	}
	if len(raw) != 0 {
		t.Errorf("%d bytes are left", len(raw))
	}
}

// skip returns what is behind the first record.
func skip(raw []byte) []byte {
	length, n := 0, 0
	for shift := 0; ; shift += 7 {
		b := raw[n]
		n++
		length |= int(b&0x7f) << shift
		if b < 0x80 {
			break
		}
	}
	return raw[n+length/2:]
}

func TestGoldenRecord(t *testing.T) {
	if got := hex.EncodeToString(appendRecord(nil, 64, []byte("click"))); got != "18"+"00"+"00"+"8001"+"01"+"0a"+hex.EncodeToString([]byte("click"))+"00" {
		t.Errorf("got %s", got)
	}
}

func TestWhatIsNoClickIsAnError(t *testing.T) {
	e, err := newEncoder()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := e.encode(&out, []byte("\xff\x00\x00\x00click"), producer{}, 0, 0); err == nil {
		t.Error("no error")
	}
}

func FuzzCheckpoint(f *testing.F) {
	f.Add(int64(1), formatCheckpoint(journal.Checkpoint{Journal: [16]byte{1}, Produced: 1}))
	f.Add(int64(-1), "")
	f.Fuzz(func(t *testing.T, offset int64, metadata string) {
		c, ok := parseCheckpoint(offset, metadata)
		if !ok {
			return
		}
		if again, ok := parseCheckpoint(int64(c.Next), formatCheckpoint(c)); !ok || again != c {
			t.Errorf("%+v is written and read as %+v", c, again)
		}
	})
}
