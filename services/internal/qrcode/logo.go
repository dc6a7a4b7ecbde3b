package qrcode

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"strings"
)

// Limits of a logo.
const (
	// MaxLogoBytes is how long the PNG of a logo may be.
	MaxLogoBytes = 64 << 10
	// MaxLogoSide is how many pixels wide and high it may be: 1 MiB when it is unpacked,
	// however short its PNG is.
	MaxLogoSide = 512
	// svgLogoSide is how large a logo is in an SVG, whose length depends on it.
	svgLogoSide = 256
)

const logoPrefix = "data:image/png;base64,"

// parseLogo reads a data URL.
func parseLogo(text string) (*image.RGBA, error) {
	if len(text) < len(logoPrefix) || !strings.EqualFold(text[:len(logoPrefix)], logoPrefix) {
		return nil, errors.New("a logo is a PNG in a data URL that begins with " + logoPrefix)
	}
	text = strings.TrimRight(text[len(logoPrefix):], "=")
	if base64.RawStdEncoding.DecodedLen(len(text)) > MaxLogoBytes {
		return nil, fmt.Errorf("the PNG of a logo has at most %d bytes", MaxLogoBytes)
	}
	// In a query a plus sign is a space, unless it was escaped; and some write base64 as
	// URLs do.
	text = strings.NewReplacer(" ", "+", "-", "+", "_", "/").Replace(text)
	packed, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("the logo is not base64")
	}
	size, err := png.DecodeConfig(bytes.NewReader(packed))
	if err != nil {
		return nil, errors.New("the logo is not a PNG that can be read")
	}
	if size.Width > MaxLogoSide || size.Height > MaxLogoSide {
		return nil, fmt.Errorf("a logo has at most %d pixels on a side, this one %d x %d", MaxLogoSide, size.Width, size.Height)
	}
	decoded, err := png.Decode(bytes.NewReader(packed))
	if err != nil {
		return nil, errors.New("the logo is not a PNG that can be read")
	}
	logo := image.NewRGBA(image.Rect(0, 0, size.Width, size.Height))
	draw.Draw(logo, logo.Bounds(), decoded, decoded.Bounds().Min, draw.Src)
	return logo, nil
}

// box is the middle of a code that a logo takes, in modules: where it begins and its
// side, with one module of free space all around inside of it.
func box(level Level, modules int) (from, side int) {
	// A third of what is lost at the level may be lost to the logo; the rest stays for dirt and
	// bad cameras. 0.25 and 0.20 of the modules are what go-qr's own logos may cover.
	share := 0.258 // √(0.20 / 3)
	if level == High {
		share = 0.288 // √(0.25 / 3)
	}
	side = int(share * float64(modules))
	if side%2 == 0 { // a code's side is odd
		side--
	}
	return (modules - side) / 2, side
}

// fit is the largest size with an image's proportions in a square.
func fit(of image.Rectangle, side int) (width, height int) {
	w, h := of.Dx(), of.Dy()
	if w >= h {
		return side, max(1, side*h/w)
	}
	return max(1, side*w/h), side
}

// scale makes an image larger or smaller: each pixel is the mean of what it covers. It
// counts in whole numbers, so that every machine gets the same.
func scale(src *image.RGBA, width, height int) *image.RGBA {
	return turn(turn(src, width), height)
}

// turn scales the width and swaps the axes.
func turn(src *image.RGBA, width int) *image.RGBA {
	from, rows := src.Bounds().Dx(), src.Bounds().Dy()
	dst := image.NewRGBA(image.Rect(0, 0, rows, width))
	for y := range rows {
		line := src.Pix[y*src.Stride:]
		for x := range width {
			// In units of which a source pixel has width and a new one has from.
			var sum [4]int
			for at, end := x*from, (x+1)*from; at < end; {
				pixel := at / width
				next := min((pixel+1)*width, end)
				for c := range sum {
					sum[c] += int(line[4*pixel+c]) * (next - at)
				}
				at = next
			}
			out := dst.Pix[x*dst.Stride+4*y:]
			for c := range sum {
				out[c] = uint8((sum[c] + from/2) / from) //nolint:gosec // a mean of bytes
			}
		}
	}
	return dst
}
