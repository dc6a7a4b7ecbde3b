// Package unlock is the cookie of a visitor who gave a link's password.
//
// It promises that a cookie opens one link, until its time is over or the link's password
// is set anew, at every edge and without asking anybody: it is signed with the key that
// the link's record carries, and that key is another one for another password.
//
// It refuses to know passwords, and to say why a cookie is none.
package unlock

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"
)

// prefix begins the name of every cookie; the rest is the link's.
const prefix = "ls_unlock_"

// minKey is shorter than any key of a release: one that is shorter signs nothing.
const minKey = 16

// AppendCookie appends the value of a Set-Cookie field that opens a link for lifetime.
// secure asks browsers to send it over TLS only.
func AppendCookie(dst []byte, link *[16]byte, key []byte, now time.Time, lifetime time.Duration, secure bool) []byte {
	ends := now.Add(lifetime).Unix()
	dst = appendName(dst, link)
	dst = append(dst, '=')
	dst = strconv.AppendInt(dst, ends, 36)
	dst = append(dst, '.')
	dst = base64.RawURLEncoding.AppendEncode(dst, sign(link, key, ends))
	dst = append(dst, "; Path=/; Max-Age="...)
	dst = strconv.AppendInt(dst, int64(lifetime/time.Second), 10)
	dst = append(dst, "; HttpOnly; SameSite=Lax"...)
	if secure {
		dst = append(dst, "; Secure"...)
	}
	return dst
}

// Opens says whether one of the cookies that a visitor sent opens a link.
func Opens(cookies []byte, link *[16]byte, key string, now time.Time) bool {
	if len(key) < minKey {
		return false
	}
	var room [len(prefix) + 2*linkPart]byte
	name := appendName(room[:0], link)
	for len(cookies) > 0 {
		cookie := cookies
		if semicolon := bytes.IndexByte(cookies, ';'); semicolon >= 0 {
			cookie, cookies = cookies[:semicolon], cookies[semicolon+1:]
		} else {
			cookies = nil
		}
		value, ours := bytes.CutPrefix(bytes.Trim(cookie, " \t"), name)
		if ours && len(value) > 0 && value[0] == '=' && valid(value[1:], link, key, now) {
			return true
		}
	}
	return false
}

func valid(value []byte, link *[16]byte, key string, now time.Time) bool {
	text, signature, ok := bytes.Cut(value, []byte("."))
	if !ok || len(text) > 13 {
		return false
	}
	ends, err := strconv.ParseInt(string(text), 36, 64)
	if err != nil || now.Unix() >= ends {
		return false
	}
	var got [sha256.Size]byte
	if base64.RawURLEncoding.DecodedLen(len(signature)) != len(got) {
		return false
	}
	n, err := base64.RawURLEncoding.Strict().Decode(got[:], signature)
	return err == nil && n == len(got) && hmac.Equal(got[:], sign(link, []byte(key), ends))
}

// linkPart is how much of a link's id is in the name: the part that is random.
const linkPart = 8

func appendName(dst []byte, link *[16]byte) []byte {
	return hex.AppendEncode(append(dst, prefix...), link[len(link)-linkPart:])
}

func sign(link *[16]byte, key []byte, ends int64) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("linkstream unlock 1\x00"))
	mac.Write(link[:])
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(ends))) //nolint:gosec // its bits are signed
	return mac.Sum(nil)
}
