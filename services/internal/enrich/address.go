package enrich

import "bytes"

// WithoutAddress returns the value of a record that does not decode with zeros in
// place of the visitor's address, wherever the bytes that announce one stand: what
// does not decode cannot be walked. A value without one is returned as it is.
func WithoutAddress(value []byte) []byte {
	const tag = 11<<3 | 2 // field 11, bytes: see Click.set
	out := value
	for i := 0; i+2 < len(value); i++ {
		if value[i] != tag || value[i+1] != 4 && value[i+1] != 16 {
			continue
		}
		if &out[0] == &value[0] {
			out = bytes.Clone(value)
		}
		// An address that is cut off at the end goes too.
		address := out[i+2 : min(i+2+int(value[i+1]), len(out))]
		clear(address)
	}
	return out
}
