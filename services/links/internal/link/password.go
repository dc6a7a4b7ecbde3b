package link

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Bounds of a link's password, in characters. People type it on phones, and guesses
// are limited before they are compared, so the lower one only keeps out slips; the
// upper one is far below what an edge takes as a form.
const (
	MinPassword = 4
	MaxPassword = 128
)

// Password is what is stored of a link's password. The zero value is none.
type Password struct {
	// Hash is argon2id in PHC form.
	Hash string
	// UnlockKey is what edges sign the cookies of visitors with who gave the password.
	// Each password that is set has another one, so that older cookies end.
	UnlockKey []byte
}

// IsSet says whether visitors must give a password.
func (p *Password) IsSet() bool { return p.Hash != "" }

// errNotHashed is a mistake of the caller: a password was given and not hashed before
// the change was to be stored.
var errNotHashed = errors.New("the password has not been hashed")

// checkPassword refuses what nobody can type, or should.
func checkPassword(given *string) *ruleError {
	switch {
	case given == nil:
		return nil
	case !utf8.ValidString(*given) || strings.ContainsFunc(*given, isControl):
		return broken(CodeInvalid, "a password has no control characters")
	case utf8.RuneCountInString(*given) < MinPassword:
		return broken(CodeTooShort, "a password has 4 characters at least; null takes it away")
	case utf8.RuneCountInString(*given) > MaxPassword:
		return broken(CodeTooLong, "a password has 128 characters at most")
	}
	return nil
}

// GivenPassword is the password that the change sets, if it sets one. It has to be
// hashed, see SetPassword, before the change is stored.
func (c *Checked) GivenPassword() (string, bool) {
	if p := c.change.Password; p.Set && p.Value != nil {
		return *p.Value, true
	}
	return "", false
}

// SetPassword says what is to be stored of the given password.
func (c *Checked) SetPassword(p Password) { c.password = p }

// StoredPassword is the hash that the change stores; nil for none.
func (c *Checked) StoredPassword() *string {
	if !c.password.IsSet() {
		return nil
	}
	return &c.password.Hash
}

func (c *Checked) applyPassword(l *Link) error {
	switch _, given := c.GivenPassword(); {
	case given && !c.password.IsSet():
		return errNotHashed
	case c.change.Password.Set:
		l.Password = c.password
	}
	return nil
}
