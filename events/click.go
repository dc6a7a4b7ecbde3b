package events

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/linkstream/linkstream/events/eventspb"
)

// Longest values of a Click's visitor-supplied fields, in bytes. Longer ones are
// cut by whoever builds the Click, so that a hostile header cannot fill a topic.
// The user agent's figure is what parsers look at; the others are guesses that
// leave every ordinary browser's value whole.
const (
	MaxUserAgent      = 512
	MaxReferrer       = 2048
	MaxAcceptLanguage = 256
	MaxQuery          = 2048
	MaxPurpose        = 64
	MaxTargetQuery    = 2048
)

// Click is one answered redirect, in the form an edge can fill without
// allocating: the slices may point into the request. schemas/ says what each
// field means.
type Click struct {
	ID             [idSize]byte
	TimeUnixMicro  int64
	WorkspaceID    [idSize]byte
	LinkID         [idSize]byte
	LinkVersion    uint64
	Host           string
	SlugKey        string
	Status         int
	EdgeRegion     string
	Edge           string
	Address        []byte // 4 or 16 bytes, empty when unknown
	UserAgent      []byte
	Referrer       []byte
	AcceptLanguage []byte
	Query          []byte
	Purpose        []byte
	TargetQuery    string // empty unless it holds a utm_ parameter
	Variant        int
	Rule           int
	Source         string
}

// Field numbers of linkstream.events.v1.Click; click_test.go holds them against
// the generated type.
const (
	clickID             protowire.Number = 1
	clickTime           protowire.Number = 2
	clickWorkspaceID    protowire.Number = 3
	clickLinkID         protowire.Number = 4
	clickLinkVersion    protowire.Number = 5
	clickHost           protowire.Number = 6
	clickSlugKey        protowire.Number = 7
	clickStatus         protowire.Number = 8
	clickEdgeRegion     protowire.Number = 9
	clickEdge           protowire.Number = 10
	clickAddress        protowire.Number = 11
	clickUserAgent      protowire.Number = 12
	clickReferrer       protowire.Number = 13
	clickAcceptLanguage protowire.Number = 14
	clickQuery          protowire.Number = 15
	clickPurpose        protowire.Number = 16
	clickTargetQuery    protowire.Number = 17
	clickVariant        protowire.Number = 18
	clickRule           protowire.Number = 19
	clickSource         protowire.Number = 20
)

// AppendClick appends the click in protobuf wire format and returns the extended
// slice. It does not allocate when dst has room: an edge calls it for every
// redirect. Fields with a zero value are left out, as protobuf does.
func AppendClick(dst []byte, c *Click) []byte {
	dst = appendBytes(dst, clickID, c.ID[:])
	dst = appendVarint(dst, clickTime, uint64(c.TimeUnixMicro))
	dst = appendBytes(dst, clickWorkspaceID, c.WorkspaceID[:])
	dst = appendBytes(dst, clickLinkID, c.LinkID[:])
	dst = appendVarint(dst, clickLinkVersion, c.LinkVersion)
	dst = appendString(dst, clickHost, c.Host)
	dst = appendString(dst, clickSlugKey, c.SlugKey)
	dst = appendVarint(dst, clickStatus, uint64(c.Status))
	dst = appendString(dst, clickEdgeRegion, c.EdgeRegion)
	dst = appendString(dst, clickEdge, c.Edge)
	dst = appendBytes(dst, clickAddress, c.Address)
	dst = appendBytes(dst, clickUserAgent, c.UserAgent)
	dst = appendBytes(dst, clickReferrer, c.Referrer)
	dst = appendBytes(dst, clickAcceptLanguage, c.AcceptLanguage)
	dst = appendBytes(dst, clickQuery, c.Query)
	dst = appendBytes(dst, clickPurpose, c.Purpose)
	dst = appendString(dst, clickTargetQuery, c.TargetQuery)
	dst = appendVarint(dst, clickVariant, uint64(c.Variant))
	dst = appendVarint(dst, clickRule, uint64(c.Rule))
	return appendString(dst, clickSource, c.Source)
}

func appendVarint(dst []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, n, protowire.VarintType), v)
}

func appendBytes(dst []byte, n protowire.Number, v []byte) []byte {
	if len(v) == 0 {
		return dst
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, n, protowire.BytesType), v)
}

func appendString(dst []byte, n protowire.Number, v string) []byte {
	if v == "" {
		return dst
	}
	return protowire.AppendString(protowire.AppendTag(dst, n, protowire.BytesType), v)
}

// DecodeClick reads a click's value into dst, which is reset first so that a
// reader may use one message for many records. It refuses what no edge ever
// wrote: ids that are not 16 bytes, a missing time or host, an address that is
// neither IPv4 nor IPv6.
func DecodeClick(value []byte, dst *eventspb.Click) error {
	if err := proto.Unmarshal(value, dst); err != nil {
		return fmt.Errorf("decoding a click: %w", err)
	}
	if err := checkClick(dst); err != nil {
		return fmt.Errorf("decoding a click: %w", err)
	}
	return nil
}

func checkClick(c *eventspb.Click) error {
	for _, id := range []struct {
		field string
		value []byte
	}{{"id", c.GetId()}, {"workspace_id", c.GetWorkspaceId()}, {"link_id", c.GetLinkId()}} {
		if len(id.value) != idSize {
			return fmt.Errorf("%s has %d bytes, want %d", id.field, len(id.value), idSize)
		}
	}
	if c.GetTimeUnixUs() <= 0 {
		return fmt.Errorf("time_unix_us is %d", c.GetTimeUnixUs())
	}
	if c.GetHost() == "" {
		return errors.New("host is empty")
	}
	if n := len(c.GetAddress()); n != 0 && n != 4 && n != 16 {
		return fmt.Errorf("address has %d bytes, want 0, 4 or 16", n)
	}
	return nil
}
