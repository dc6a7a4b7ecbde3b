package qrcode

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strconv"

	qr "github.com/piglig/go-qr"
)

// minModule is how many pixels of a PNG a module takes at least.
const minModule = 2

// Draw draws the code of a text. An error is a FieldErrors if the options do not suit
// the text.
func (o Options) Draw(text string) ([]byte, error) {
	code, err := o.encode(text)
	if err != nil {
		return nil, err
	}
	if o.Format == PNG {
		return o.png(code)
	}
	return o.svg(code)
}

func (o Options) encode(text string) (*qr.QrCode, error) {
	var wrong FieldErrors
	if len(text) > MaxText {
		wrong.note("text", CodeTooLong, "the text has at most %d bytes", MaxText)
		return nil, wrong
	}
	if o.Logo != nil {
		checkLogo(o.Level, &wrong)
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	code, err := qr.EncodeBinary([]byte(text), o.Level.ecc())
	switch {
	case errors.Is(err, qr.ErrDataTooLong):
		wrong.note("level", CodeTooLong, "the link is too long for a code at level %s", o.Level)
		return nil, wrong
	case err != nil:
		return nil, fmt.Errorf("encoding a QR code: %w", err)
	}
	if least := (code.Size() + 2*o.Margin) * minModule; o.Format == PNG && o.Size < least {
		wrong.note("size", CodeInvalid, "the code of this link has %d modules on a side, its margins included, and needs %d pixels at least", least/minModule, least)
		return nil, wrong
	}
	return code, nil
}

func (l Level) ecc() qr.Ecc {
	switch l {
	case Low:
		return qr.Low
	case Quartile:
		return qr.Quartile
	case High:
		return qr.High
	case Medium:
	}
	return qr.Medium
}

// png draws with two colours. What is left of the size, because modules are whole
// pixels, goes to the margins.
func (o Options) png(code *qr.QrCode) ([]byte, error) {
	modules := code.Size()
	module := o.Size / (modules + 2*o.Margin)
	at := (o.Size - module*modules) / 2
	canvas := image.NewPaletted(image.Rect(0, 0, o.Size, o.Size), color.Palette{o.Background.rgba(), o.Color.rgba()})
	for y := range modules {
		first := canvas.Pix[(at+y*module)*canvas.Stride:][:canvas.Stride]
		for x := range modules {
			if !code.Module(x, y) {
				continue
			}
			for i := range module {
				first[at+x*module+i] = 1
			}
		}
		for i := 1; i < module; i++ {
			copy(canvas.Pix[(at+y*module+i)*canvas.Stride:], first)
		}
	}
	var drawn image.Image = canvas
	if o.Logo != nil {
		drawn = o.overlay(canvas, at, module, modules)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, drawn); err != nil {
		return nil, fmt.Errorf("encoding a PNG: %w", err)
	}
	return out.Bytes(), nil
}

// overlay puts the logo into the middle.
func (o Options) overlay(code *image.Paletted, at, module, modules int) *image.RGBA {
	canvas := image.NewRGBA(code.Bounds())
	draw.Draw(canvas, canvas.Bounds(), code, image.Point{}, draw.Src)
	from, side := box(o.Level, modules)
	corner := at + from*module
	free := image.Rect(corner, corner, corner+side*module, corner+side*module)
	draw.Draw(canvas, free, image.NewUniform(o.Background.rgba()), image.Point{}, draw.Src)
	room := (side - 2) * module
	width, height := fit(o.Logo.Bounds(), room)
	place := image.Pt(corner+module+(room-width)/2, corner+module+(room-height)/2)
	draw.Draw(canvas, image.Rectangle{Min: place, Max: place.Add(image.Pt(width, height))}, scale(o.Logo, width, height), image.Point{}, draw.Over)
	return canvas
}

// svg draws rows of dark modules as one path, in units of a module.
func (o Options) svg(code *qr.QrCode) ([]byte, error) {
	modules := code.Size()
	size, whole := strconv.Itoa(o.Size), strconv.Itoa(modules+2*o.Margin)
	out := make([]byte, 0, 512+8*modules*modules/2)
	out = append(out, `<svg xmlns="http://www.w3.org/2000/svg" width="`+size+`" height="`+size+`" viewBox="0 0 `+whole+` `+whole+
		`" shape-rendering="crispEdges"><rect width="`+whole+`" height="`+whole+`" fill="`+o.Background.hex()+`"/><path fill="`+o.Color.hex()+`" d="`...)
	for y := range modules {
		for x := 0; x < modules; x++ {
			run := x
			for x < modules && code.Module(x, y) {
				x++
			}
			if x == run {
				continue
			}
			out = append(out, 'M')
			out = strconv.AppendInt(out, int64(o.Margin+run), 10)
			out = append(out, ' ')
			out = strconv.AppendInt(out, int64(o.Margin+y), 10)
			out = append(out, 'h')
			out = strconv.AppendInt(out, int64(x-run), 10)
			out = append(out, "v1h-"...)
			out = strconv.AppendInt(out, int64(x-run), 10)
			out = append(out, 'z')
		}
	}
	out = append(out, `"/>`...)
	if o.Logo != nil {
		var err error
		if out, err = o.embed(out, modules); err != nil {
			return nil, err
		}
	}
	return append(out, "</svg>\n"...), nil
}

// embed is overlay for an SVG. The logo is encoded anew: nothing else that came in its
// file gets out again.
func (o Options) embed(out []byte, modules int) ([]byte, error) {
	logo := o.Logo
	if side := max(logo.Bounds().Dx(), logo.Bounds().Dy()); side > svgLogoSide {
		width, height := fit(logo.Bounds(), svgLogoSide)
		logo = scale(logo, width, height)
	}
	var packed bytes.Buffer
	if err := png.Encode(&packed, logo); err != nil {
		return nil, fmt.Errorf("encoding a logo: %w", err)
	}
	from, side := box(o.Level, modules)
	square := func(element string, from, side int, rest string) {
		at, size := strconv.Itoa(o.Margin+from), strconv.Itoa(side)
		out = append(out, `<`+element+` x="`+at+`" y="`+at+`" width="`+size+`" height="`+size+`" `+rest+`/>`...)
	}
	square("rect", from, side, `fill="`+o.Background.hex()+`"`)
	square("image", from+1, side-2, `href="`+logoPrefix+base64.StdEncoding.EncodeToString(packed.Bytes())+`"`)
	return out, nil
}
