package qrcode

import (
	"image/color"
	"math"
	"strconv"
	"strings"
)

// Color is an opaque colour: red, green, blue.
type Color [3]uint8

// parseColor reads three or six hexadecimal digits, with or without the # that a query
// can hold only in disguise.
func parseColor(text string) (Color, bool) {
	text = strings.TrimPrefix(text, "#")
	if len(text) == 3 {
		text = string([]byte{text[0], text[0], text[1], text[1], text[2], text[2]})
	}
	if len(text) != 6 || strings.ContainsAny(text, "+-_") {
		return Color{}, false
	}
	n, err := strconv.ParseUint(text, 16, 24)
	if err != nil {
		return Color{}, false
	}
	return Color{uint8(n >> 16), uint8(n >> 8), uint8(n)}, true //nolint:gosec // the three bytes of a number of 24 bits
}

// hex is the colour as SVG has it.
func (c Color) hex() string {
	const digits = "0123456789abcdef"
	out := [7]byte{'#'}
	for i, part := range c {
		out[1+2*i], out[2+2*i] = digits[part>>4], digits[part&15]
	}
	return string(out[:])
}

func (c Color) rgba() color.RGBA { return color.RGBA{c[0], c[1], c[2], 0xff} }

// luminance is WCAG's relative luminance, from 0 for black to 1 for white.
func (c Color) luminance() float64 {
	linear := func(part uint8) float64 {
		v := float64(part) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

// minContrast is WCAG's figure for graphics that must be told from their ground. A
// camera in bad light needs no less than an eye.
const minContrast = 3

// checkContrast refuses colours that scanners cannot tell apart.
func checkContrast(dark, light Color, wrong *FieldErrors) {
	d, l := dark.luminance(), light.luminance()
	switch ratio := (l + 0.05) / (d + 0.05); {
	case ratio <= 1/1.5:
		wrong.note("color", CodeLowContrast, "the color is lighter than the background: many scanners find only dark codes on a light ground, so swap the two")
	case ratio < minContrast:
		wrong.note("color", CodeLowContrast, "the color is hardly darker than the background (contrast %.1f to 1): scanners need %d to 1 at least", ratio, minContrast)
	}
}
