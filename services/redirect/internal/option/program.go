package option

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// Program is a link's options in the form that visits are decided by. "" is that of a
// link without any.
//
// Numbers are little endian. It begins with a head:
//
//	0 limit of clicks  8 since  16 end of the split (ms)  24 sum of the weights
//	28 variants  29 winner  30 length of the unlock key
//	32 where the variants are  36 the rules  40 the preview  44 number of rules
//
// and goes on with the key and the three parts: variants as weight and target, rules as
// the length of what follows in them, number of conditions, conditions, target. A
// condition is its kind, the length of what follows, and what its kind needs. A text is
// its length in four bytes, and itself.
type Program string

const (
	atLimit    = 0
	atSince    = 8
	atEnd      = 16
	atWeights  = 24
	atVariants = 28 // how many
	atWinner   = 29
	atKey      = 30 // how long
	atFirst    = 32 // where the variants are
	atRules    = 36
	atPreview  = 40
	atCount    = 44 // how many rules
	headBytes  = 48
)

// errTooLarge says that options are beyond what the links service lets pass.
var errTooLarge = errors.New("the link's options are larger than any that can be made")

// Compile makes the program of a record's options. zones is where programs of this
// process have their zones.
func Compile(text linkcache.OptionText, zones *Zones) (Program, error) {
	options, err := text.Parse()
	if err != nil {
		return "", err
	}
	if text == "" {
		return "", nil
	}
	if len(options.Variants) > math.MaxUint8 || len(options.UnlockKey) > math.MaxUint8 || len(options.Rules) > math.MaxUint16 ||
		len(text) > math.MaxInt32/4 || options.Winner > math.MaxUint8 {
		return "", errTooLarge
	}
	b := make([]byte, headBytes, headBytes+len(text))
	put := binary.LittleEndian
	put.PutUint64(b[atLimit:], options.MaxClicks)
	put.PutUint64(b[atSince:], options.MaxClicksSince)
	put.PutUint64(b[atEnd:], uint64(options.VariantsEnd)) //nolint:gosec // read back in the same way
	b[atVariants], b[atWinner], b[atKey] = byte(len(options.Variants)), byte(options.Winner), byte(len(options.UnlockKey))
	put.PutUint32(b[atCount:], uint32(len(options.Rules))) //nolint:gosec // checked above
	b = append(b, options.UnlockKey...)

	part := func(at int) { put.PutUint32(b[at:], uint32(len(b))) } //nolint:gosec // not longer than the text, about
	part(atFirst)
	var weights uint64
	for _, v := range options.Variants {
		weights += uint64(v.Weight)
		b = put.AppendUint32(b, v.Weight)
		b = appendText(b, v.Destination)
	}
	if weights > math.MaxUint32 {
		return "", errTooLarge
	}
	put.PutUint32(b[atWeights:], uint32(weights))
	part(atRules)
	for i := range options.Rules {
		b = appendRule(b, &options.Rules[i], zones)
	}
	part(atPreview)
	if p := options.Preview; p != nil {
		b = appendText(appendText(appendText(b, p.Title), p.Text), p.Image)
	}
	return Program(b), nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...) //nolint:gosec // parts of one text
}

// sized appends something behind its length.
func sized(b []byte, appended func([]byte) []byte) []byte {
	at := len(b)
	b = appended(append(b, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4)) //nolint:gosec // parts of one text
	return b
}

func (p Program) word(at int) uint32 {
	s := p[at : at+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func (p Program) long(at int) uint64 { return uint64(p.word(at)) | uint64(p.word(at+4))<<32 }

// text is that at a place, and where the next thing is.
func (p Program) text(at int) (s string, next int) {
	end := at + 4 + int(p.word(at))
	return string(p[at+4 : end]), end
}

// MaxClicks is the limit of clicks, and since when it counts; 0 for none.
func (p Program) MaxClicks() (limit, since uint64) {
	if p == "" {
		return 0, 0
	}
	return p.long(atLimit), p.long(atSince)
}

// UnlockKey signs the cookies of those who gave the password, "" for none.
func (p Program) UnlockKey() string {
	if p == "" {
		return ""
	}
	return string(p[headBytes:][:p[atKey]])
}

// Preview is what preview bots are shown.
func (p Program) Preview() (title, text, image string) {
	if p == "" || int(p.word(atPreview)) == len(p) {
		return "", "", ""
	}
	title, at := p.text(int(p.word(atPreview)))
	text, at = p.text(at)
	image, _ = p.text(at)
	return title, text, image
}

// lower is what is compared with in lower case, ASCII or not.
func lower(s string) string { return strings.ToLower(s) }
