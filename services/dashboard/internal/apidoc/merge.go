// Package apidoc makes one API description out of those of the services, and a
// page to read it on.
//
// It promises a document whose bytes depend on the parts alone, and that a
// disagreement between two services is an error that names the place. It refuses
// to repair: what a service describes wrongly stays wrong.
package apidoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Title and version of the whole, as published.
const (
	title   = "linkstream API"
	version = "v1"
)

// description heads the reference.
const description = "Short links, and what happened to them. JSON in and out; unknown fields are refused. " +
	"Send an API key as Authorization: Bearer KEY. Errors are application/problem+json (RFC 9457) with a stable code; " +
	"schemas/errors.json lists them all. Every answer carries X-Request-Id: quote it when you ask for help."

// ErrConflict says that two parts describe one thing differently.
var ErrConflict = errors.New("two services describe it differently")

// document is the part of OpenAPI 3.1 that merging has to know. Everything below
// it is carried over as it is.
type document struct {
	OpenAPI    string                                `json:"openapi"`
	Info       info                                  `json:"info"`
	Servers    []server                              `json:"servers"`
	Tags       []tag                                 `json:"tags,omitempty"`
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Webhooks   map[string]map[string]json.RawMessage `json:"webhooks,omitempty"`
	Components map[string]map[string]json.RawMessage `json:"components"`
}

type info struct {
	Title       string  `json:"title"`
	Version     string  `json:"version"`
	Description string  `json:"description,omitempty"`
	License     licence `json:"license,omitzero"`
}

type licence struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
}

type server struct {
	URL string `json:"url"`
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Merge joins OpenAPI documents into one. Paths and components of the same name
// must be equal, or the error is ErrConflict.
func Merge(parts ...[]byte) ([]byte, error) {
	whole := document{
		Info:       info{Title: title, Version: version, Description: description, License: licence{Name: "Apache 2.0", Identifier: "Apache-2.0"}},
		Servers:    []server{{URL: "/"}}, // the address that the document was read from
		Paths:      map[string]map[string]json.RawMessage{},
		Webhooks:   map[string]map[string]json.RawMessage{},
		Components: map[string]map[string]json.RawMessage{},
	}
	var errs []error
	for i, part := range parts {
		doc, err := parse(part)
		if err != nil {
			return nil, fmt.Errorf("reading document %d: %w", i+1, err)
		}
		if whole.OpenAPI == "" {
			whole.OpenAPI = doc.OpenAPI
		}
		if doc.OpenAPI != whole.OpenAPI {
			errs = append(errs, fmt.Errorf("OpenAPI %s and %s: %w", whole.OpenAPI, doc.OpenAPI, ErrConflict))
		}
		errs = append(errs,
			join("paths", whole.Paths, doc.Paths),
			join("webhooks", whole.Webhooks, doc.Webhooks),
			join("components", whole.Components, doc.Components))
		whole.Tags = addTags(whole.Tags, doc.Tags)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return encode(whole)
}

func parse(part []byte) (document, error) {
	var doc document
	if err := json.Unmarshal(part, &doc); err != nil {
		return doc, err
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.") || doc.Paths == nil {
		return doc, errors.New("this is no OpenAPI 3 document with paths")
	}
	return doc, nil
}

// join copies two levels of names: path and method, or kind of component and name.
func join(where string, into, from map[string]map[string]json.RawMessage) error {
	var errs []error
	for outer, members := range from {
		if into[outer] == nil {
			into[outer] = map[string]json.RawMessage{}
		}
		for inner, value := range members {
			value, err := canonical(value)
			if err != nil {
				return err
			}
			if known, ok := into[outer][inner]; ok && !bytes.Equal(known, value) {
				errs = append(errs, fmt.Errorf("%s %s %s: %w", where, outer, inner, ErrConflict))
				continue
			}
			into[outer][inner] = value
		}
	}
	return errors.Join(errs...)
}

// canonical orders the members of all objects by name, so that equal things are
// equal bytes.
func canonical(value json.RawMessage) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	return encode(tree)
}

func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func addTags(into, from []tag) []tag {
	for _, t := range from {
		known := false
		for _, other := range into {
			known = known || other.Name == t.Name
		}
		if !known {
			into = append(into, t)
		}
	}
	return into
}

// WriteIndented writes a document for the eyes of a reviewer: indented, with an
// end of line.
func WriteIndented(w io.Writer, doc []byte) error {
	var out bytes.Buffer
	if err := json.Indent(&out, doc, "", "  "); err != nil {
		return fmt.Errorf("indenting the document: %w", err)
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}
