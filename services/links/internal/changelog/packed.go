package changelog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/linkstream/linkstream/events/eventspb"
)

// ErrNotPacked says that bytes are no sequence of changes.
var ErrNotPacked = errors.New("not a sequence of changes")

// Append adds a change to a sequence: its length as a varint, then the change.
func Append(packed []byte, ev *eventspb.LinkChanged) ([]byte, error) {
	packed = binary.AppendUvarint(packed, uint64(proto.Size(ev))) //nolint:gosec // not negative
	packed, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(packed, ev)
	if err != nil {
		return nil, fmt.Errorf("encoding the change: %w", err)
	}
	return packed, nil
}

// Split takes a sequence of n changes apart. The parts are those of packed, not copies.
func Split(packed []byte, n int) ([][]byte, error) {
	parts := make([][]byte, 0, n)
	for len(packed) > 0 {
		size, width := binary.Uvarint(packed)
		if width <= 0 || size > uint64(len(packed)-width) {
			return nil, ErrNotPacked
		}
		end := width + int(size) //nolint:gosec // at most the length
		parts, packed = append(parts, packed[width:end]), packed[end:]
	}
	if len(parts) != n {
		return nil, fmt.Errorf("%w: %d, want %d", ErrNotPacked, len(parts), n)
	}
	return parts, nil
}
