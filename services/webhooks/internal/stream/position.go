package stream

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"time"
)

// position is how far a viewer has come: of each topic, the next offset of each
// partition. Its text is the id of an event, which callers have no reason to read.
type position struct {
	// at is when it was reached.
	at     time.Time
	topics [topics][]int64
}

// topics is how many a viewer may look at: changes of links, and clicks.
const (
	linksTopic = iota
	clicksTopic
	topics
)

const (
	positionFormat = 1
	// maxPartitions bounds what a caller can make us read.
	maxPartitions = 1000
)

var errNoPosition = errors.New("this is no id of an event")

func (p *position) clone() position {
	c := position{at: p.at}
	for i := range p.topics {
		c.topics[i] = slices.Clone(p.topics[i])
	}
	return c
}

// String is the id.
func (p *position) String() string {
	b := binary.AppendUvarint([]byte{positionFormat}, uint64(p.at.Unix())) //nolint:gosec // after 1970
	for _, offsets := range p.topics {
		b = binary.AppendUvarint(b, uint64(len(offsets)))
		for _, o := range offsets {
			b = binary.AppendUvarint(b, uint64(o)) //nolint:gosec // no offset is negative
		}
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parsePosition reads what String wrote.
func parsePosition(text string) (position, error) {
	var p position
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) == 0 || b[0] != positionFormat {
		return p, errNoPosition
	}
	b = b[1:]
	next := func(limit uint64) uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > limit {
			err = errNoPosition
			b = nil
			return 0
		}
		b = b[n:]
		return v
	}
	const maxSeconds, maxOffset = 1 << 40, 1 << 62
	p.at = time.Unix(int64(next(maxSeconds)), 0) //nolint:gosec // bounded
	for i := range p.topics {
		for range next(maxPartitions) {
			p.topics[i] = append(p.topics[i], int64(next(maxOffset))) //nolint:gosec // bounded
			if err != nil {
				return position{}, err
			}
		}
	}
	if err == nil && len(b) > 0 {
		err = errNoPosition
	}
	return p, err
}
