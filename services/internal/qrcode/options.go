// Package qrcode draws QR codes of short links as PNG and SVG.
//
// It promises that the same text and options give the same bytes, that a PNG has
// exactly the size that was asked for with modules of whole pixels, that what it draws
// can be read (colours without contrast, a logo that the error correction cannot make up
// for, modules too small for a camera are refused, with the reason), and that nobody's
// parameters cost more than what the limits below stand for: a few megabytes and some
// ten milliseconds.
//
// It refuses to fetch a logo, to draw anything but squares, and to draw without a
// background: the surroundings decide about the contrast then.
package qrcode

import (
	"fmt"
	"image"
	"net/url"
	"strconv"
	"strings"
)

// Limits and defaults of options. Sizes are in pixels, margins in modules.
const (
	MinSize     = 64
	MaxSize     = 2048 // twice what a poster's printer is given; 4 MiB while it is drawn
	DefaultSize = 512

	MaxMargin     = 16
	DefaultMargin = 4 // the quiet zone that ISO/IEC 18004 asks for

	// MaxText is the longest text, in bytes. A code of it has more than 150 modules on a
	// side already, and the longest short link fits.
	MaxText = 2048
)

// Format is what a code is drawn as.
type Format string

// The formats.
const (
	PNG Format = "png"
	SVG Format = "svg"
)

// ContentType is the media type of the format.
func (f Format) ContentType() string {
	if f == PNG {
		return "image/png"
	}
	return "image/svg+xml"
}

// Level is how much of a code may be lost: about 7, 15, 25 or 30 percent.
type Level string

// The levels of error correction.
const (
	Low      Level = "L"
	Medium   Level = "M"
	Quartile Level = "Q"
	High     Level = "H"
)

// Options say how a code is drawn. Default and Parse make valid ones.
type Options struct {
	Format     Format
	Size       int // of a side, in pixels; of an SVG the size it is shown at
	Margin     int // on each side, in modules
	Level      Level
	Color      Color
	Background Color
	Logo       *image.RGBA // in the middle; nil for none
}

// Default is black on white.
func Default(format Format) Options {
	return Options{Format: format, Size: DefaultSize, Margin: DefaultMargin, Level: Medium, Background: Color{0xff, 0xff, 0xff}}
}

// Code says what is wrong with an option, for a program. The list is closed, and its
// values are stable.
type Code string

// The codes of field errors.
const (
	CodeInvalid     Code = "invalid"
	CodeTooLong     Code = "too_long"
	CodeRepeated    Code = "repeated"
	CodeNotAllowed  Code = "not_allowed"
	CodeLowContrast Code = "low_contrast"
)

// FieldError is what is wrong with one option.
type FieldError struct {
	Field  string // the option's name
	Code   Code
	Detail string // for a person
}

// FieldErrors is what is wrong with the options, one by one.
type FieldErrors []FieldError

// Error implements error.
func (e FieldErrors) Error() string {
	texts := make([]string, len(e))
	for i, f := range e {
		texts[i] = f.Field + ": " + f.Detail
	}
	return strings.Join(texts, "; ")
}

func (e *FieldErrors) note(field string, code Code, format string, args ...any) {
	*e = append(*e, FieldError{Field: field, Code: code, Detail: fmt.Sprintf(format, args...)})
}

// Values is url.ParseQuery for queries with a data URL, which has a semicolon: only &
// ends a parameter. What cannot be decoded stays as it is, and is refused by Parse.
func Values(query string) url.Values {
	values := url.Values{}
	for parameter := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(parameter, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		if decoded, err := url.QueryUnescape(value); err == nil {
			value = decoded
		}
		values[name] = append(values[name], value)
	}
	return values
}

// Parse reads options from a query: format, size, margin, level, color, background and
// logo. What is not there, or empty, is the default; other parameters are somebody
// else's. An error is a FieldErrors.
func Parse(query url.Values, format Format) (Options, error) {
	o := Default(format)
	var wrong FieldErrors
	value := func(name string) (string, bool) {
		values := query[name]
		if len(values) > 1 {
			wrong.note(name, CodeRepeated, "%s is given more than once", name)
			return "", false
		}
		return strings.Join(values, ""), len(values) == 1 && values[0] != ""
	}
	number := func(name string, into *int, least, most int, unit string) {
		if text, given := value(name); given {
			n, err := strconv.Atoi(text)
			if err != nil || n < least || n > most {
				wrong.note(name, CodeInvalid, "%s is a whole number of %s from %d to %d", name, unit, least, most)
				return
			}
			*into = n
		}
	}
	color := func(name string, into *Color) bool {
		text, given := value(name)
		if !given {
			return true
		}
		c, ok := parseColor(text)
		if !ok {
			wrong.note(name, CodeInvalid, "a colour has three or six hexadecimal digits, as in 1a2b3c; codes without a background or with transparent parts are not drawn, because nobody knows what would be behind them")
			return false
		}
		*into = c
		return true
	}

	if text, given := value("format"); given {
		switch f := Format(strings.ToLower(text)); f {
		case PNG, SVG:
			o.Format = f
		default:
			wrong.note("format", CodeInvalid, "the formats are png and svg")
		}
	}
	number("size", &o.Size, MinSize, MaxSize, "pixels")
	number("margin", &o.Margin, 0, MaxMargin, "modules")
	level, levelGiven := value("level")
	if levelGiven {
		o.Level = Level(strings.ToUpper(level))
		if !o.Level.known() {
			wrong.note("level", CodeInvalid, "the levels of error correction are L, M, Q and H")
		}
	}
	if dark, light := color("color", &o.Color), color("background", &o.Background); dark && light {
		checkContrast(o.Color, o.Background, &wrong)
	}
	if text, given := value("logo"); given {
		var err error
		if o.Logo, err = parseLogo(text); err != nil {
			wrong.note("logo", CodeInvalid, "%v", err)
		}
		if !levelGiven {
			o.Level = High
		}
		checkLogo(o.Level, &wrong)
	}
	if len(wrong) > 0 {
		return Options{}, wrong
	}
	return o, nil
}

func (l Level) known() bool {
	switch l {
	case Low, Medium, Quartile, High:
		return true
	}
	return false
}

// checkLogo refuses a logo at a level that cannot make up for what it covers.
func checkLogo(level Level, wrong *FieldErrors) {
	if level == Low || level == Medium {
		wrong.note("level", CodeNotAllowed, "a logo covers a part of the code, which can be read at level H or Q only")
	}
}
