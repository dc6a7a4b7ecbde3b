package linkcache

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Channel is where a region's invalidations and heartbeats are published.
const Channel = "invalidate:redirect"

// Message is one publication on Channel: an invalidation (Keys is set) or a
// heartbeat (Heartbeat is set). Both carry changelog positions, by which an edge
// notices that it missed something.
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

// Encode is the message on the wire.
func (m *Message) Encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encoding an invalidation: %w", err)
	}
	return b, nil
}

// DecodeMessage reads a message. One that is neither an invalidation nor a
// heartbeat is an error: an edge treats it as a missed message.
func DecodeMessage(b []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(b, &m); err != nil {
		return Message{}, fmt.Errorf("decoding an invalidation: %w", err)
	}
	if len(m.Keys) == 0 && m.Heartbeat == nil {
		return Message{}, errors.New("decoding an invalidation: neither keys nor heartbeat")
	}
	return m, nil
}
