package events

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// ID is the UUID of a link, a workspace or a click, as records carry it: 16 bytes.
type ID [idSize]byte

// String is the form that the API uses, for instance
// 019acf12-dc00-7000-8000-000000000001.
func (id ID) String() string {
	text := hex.EncodeToString(id[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// ParseID reads what String writes, in either case of letters.
func ParseID(text string) (ID, error) {
	raw, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(raw) != idSize || ID(raw).String() != strings.ToLower(text) {
		return ID{}, fmt.Errorf("%q is not a UUID", text)
	}
	return ID(raw), nil
}
