package linkcache

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Channel is where a region's invalidations and heartbeats are published.
const Channel = "invalidate:redirect"

// Message is one publication on Channel: an invalidation (Keys is set), invalidations
// of many links at once (Spans is set) or a heartbeat (Heartbeat is set). All carry
// changelog positions, by which an edge notices that it missed something.
type Message struct {
	// Keys whose entries are older than Revision from now on.
	Keys     []string `json:"k,omitempty"`
	Version  uint64   `json:"v,omitempty"`
	Revision uint64   `json:"r,omitempty"`
	// Position of the record that caused the invalidation.
	Position Position `json:"p,omitzero"`
	// Previous is the offset in the same partition up to which everything had been
	// published before this message. An edge that has not heard of it missed one.
	Previous int64 `json:"q,omitempty"`
	// Spans stand for many invalidations. An edge of a release that does not know them
	// takes such a message for one that it missed.
	Spans []Span `json:"s,omitempty"`
	// Heartbeat is the newest published position of each partition that the sender
	// reads, at least once a second.
	Heartbeat []Position `json:"h,omitempty"`
	// Partitions is how many partitions the changelog has, in a heartbeat: an edge
	// knows by it that nobody speaks for some of them.
	Partitions int32 `json:"c,omitempty"`
	// Filling says, in a heartbeat, that the sender is writing the partitions it
	// speaks for again from the start: until it is done, a record may be missing, or
	// be one that a later change has replaced. An edge asks the origin meanwhile.
	Filling bool `json:"l,omitempty"`
}

// Position is a place in the changelog.
type Position struct {
	Partition int32 `json:"n"`
	Offset    int64 `json:"o"`
}

// Span is invalidations of one partition of which each follows the one before: whoever
// had heard everything up to Previous has heard everything up to Offset afterwards.
type Span struct {
	Partition int32 `json:"n"`
	Previous  int64 `json:"q"`
	Offset    int64 `json:"o"`
	// Keys[i] is older than Revisions[i] from now on.
	Keys      []string `json:"k"`
	Revisions []uint64 `json:"r"`
}

// Encode is the message on the wire.
func (m *Message) Encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encoding an invalidation: %w", err)
	}
	return b, nil
}

// DecodeMessage reads a message. One that is neither an invalidation nor a
// heartbeat is an error: an edge treats it as a missed message. So is one whose spans
// lack a key or a revision.
func DecodeMessage(b []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(b, &m); err != nil {
		return Message{}, fmt.Errorf("decoding an invalidation: %w", err)
	}
	for i := range m.Spans {
		if s := &m.Spans[i]; len(s.Keys) == 0 || len(s.Keys) != len(s.Revisions) {
			return Message{}, errors.New("decoding an invalidation: a span of unequal columns")
		}
	}
	if len(m.Keys) == 0 && len(m.Spans) == 0 && m.Heartbeat == nil {
		return Message{}, errors.New("decoding an invalidation: neither keys nor heartbeat")
	}
	return m, nil
}

// Join puts invalidations that follow each other into one message, in their order for
// each partition. It leaves a single one as it is, which every release of the edge
// understands.
func Join(messages []Message) Message {
	if len(messages) == 1 {
		return messages[0]
	}
	var joined Message
	open := map[int32]int{} // the partition's last span
	for i := range messages {
		m := &messages[i]
		id := m.Position.Partition
		at, ok := open[id]
		// Where something may be missing in between, the edge has to see it.
		if !ok || m.Previous > joined.Spans[at].Offset {
			at = len(joined.Spans)
			open[id] = at
			joined.Spans = append(joined.Spans, Span{Partition: id, Previous: m.Previous})
		}
		s := &joined.Spans[at]
		s.Offset = max(s.Offset, m.Position.Offset)
		for _, key := range m.Keys {
			s.Keys, s.Revisions = append(s.Keys, key), append(s.Revisions, m.Revision)
		}
	}
	return joined
}
