package enrich

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Click is a decoded record. Its slices point into the record's value: they are
// good for as long as that is.
type Click struct {
	ID, WorkspaceID, LinkID                      []byte // 16 bytes
	TimeUnixMicro                                int64
	LinkVersion                                  uint64
	Status, Variant, Rule                        uint32
	Host, SlugKey, EdgeRegion, Edge, Source      []byte // UTF-8
	Address                                      []byte // 0, 4 or 16 bytes
	UserAgent, Referrer, AcceptLanguage, Purpose []byte
	Query, TargetQuery                           []byte
}

// The clicks that are accepted, by their time. What lies outside comes from a
// broken encoder, and the table's partitions and DateTime end somewhere.
const (
	minTimeUnixMicro = 946_684_800_000_000   // 2000-01-01
	maxTimeUnixMicro = 4_102_444_800_000_000 // 2100-01-01
)

// Decode reads a record's value. It accepts and refuses what events.DecodeClick
// does (a fuzz test holds them against each other) and a time that no clock shows.
// The generated code would allocate a dozen times a click, twice what all the rest
// of the work takes.
func (c *Click) Decode(value []byte) error {
	*c = Click{}
	if err := c.read(value); err != nil {
		return fmt.Errorf("decoding a click: %w", err)
	}
	if err := c.check(); err != nil {
		return fmt.Errorf("decoding a click: %w", err)
	}
	return nil
}

var errText = errors.New("a text is not UTF-8")

func (c *Click) read(value []byte) error {
	for len(value) > 0 {
		number, kind, n := protowire.ConsumeTag(value)
		if n < 0 {
			return protowire.ParseError(n)
		}
		value = value[n:]
		switch kind {
		case protowire.BytesType:
			field, n := protowire.ConsumeBytes(value)
			if n < 0 {
				return protowire.ParseError(n)
			}
			value = value[n:]
			if text := c.set(number, field); text && !utf8.Valid(field) {
				return errText
			}
		case protowire.VarintType:
			v, n := protowire.ConsumeVarint(value)
			if n < 0 {
				return protowire.ParseError(n)
			}
			value = value[n:]
			c.setNumber(number, v)
		default:
			n := protowire.ConsumeFieldValue(number, kind, value)
			if n < 0 {
				return protowire.ParseError(n)
			}
			value = value[n:]
		}
	}
	return nil
}

// set says whether the field is a text. Fields that it does not know are newer
// than this release.
func (c *Click) set(number protowire.Number, field []byte) (text bool) {
	switch number {
	case 1:
		c.ID = field
	case 3:
		c.WorkspaceID = field
	case 4:
		c.LinkID = field
	case 6:
		c.Host = field
	case 7:
		c.SlugKey = field
	case 9:
		c.EdgeRegion = field
	case 10:
		c.Edge = field
	case 11:
		c.Address = field
	case 12:
		c.UserAgent = field
	case 13:
		c.Referrer = field
	case 14:
		c.AcceptLanguage = field
	case 15:
		c.Query = field
	case 16:
		c.Purpose = field
	case 17:
		c.TargetQuery = field
	case 20:
		c.Source = field
	default:
	}
	return number == 6 || number == 7 || number == 9 || number == 10 || number == 20
}

func (c *Click) setNumber(number protowire.Number, v uint64) {
	switch number {
	case 2:
		c.TimeUnixMicro = int64(v)
	case 5:
		c.LinkVersion = v
	case 8:
		c.Status = uint32(v)
	case 18:
		c.Variant = uint32(v)
	case 19:
		c.Rule = uint32(v)
	default:
	}
}

func (c *Click) check() error {
	const idSize = 16
	switch n := len(c.Address); {
	case len(c.ID) != idSize:
		return fmt.Errorf("id has %d bytes, want %d", len(c.ID), idSize)
	case len(c.WorkspaceID) != idSize:
		return fmt.Errorf("workspace_id has %d bytes, want %d", len(c.WorkspaceID), idSize)
	case len(c.LinkID) != idSize:
		return fmt.Errorf("link_id has %d bytes, want %d", len(c.LinkID), idSize)
	case c.TimeUnixMicro < minTimeUnixMicro || c.TimeUnixMicro >= maxTimeUnixMicro:
		return fmt.Errorf("time_unix_us %d is before 2000 or after 2099", c.TimeUnixMicro)
	case len(c.Host) == 0:
		return errors.New("host is empty")
	case n != 0 && n != 4 && n != 16:
		return fmt.Errorf("address has %d bytes, want 0, 4 or 16", n)
	}
	return nil
}
