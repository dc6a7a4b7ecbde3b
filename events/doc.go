// Package events is linkstream's public contract in Go: which topics there are,
// what their records hold, and how to read and write them. It is what another
// team imports, so it depends on protobuf and franz-go and nothing else.
//
// It promises that a record written by any released version can be read by any
// later one, and it refuses to guess: bytes that do not decode, or decode to
// something no version ever wrote, are an error, never a half-filled event.
//
// The language-neutral form of the same contract is in schemas/.
package events
