package page

import (
	"strconv"
	"time"
)

// Try says what became of a password.
type Try uint8

// The tries.
const (
	NotTried Try = iota
	Wrong
	// TooManyTries says that the password was not even looked at.
	TooManyTries
)

// AppendPassword appends the form for a link's password: its field is `password`, and it
// is posted to the address that it is on. It comes with FormLines. wait is after how long
// another try is allowed, for TooManyTries.
func AppendPassword(dst []byte, try Try, wait time.Duration) []byte {
	dst = open(dst, passwordTitle, noIndex, iconLock)
	dst = appendHeading(dst, passwordTitle)
	dst = appendParagraph(dst, "", passwordText)
	invalid := ""
	switch try {
	case NotTried:
	case Wrong:
		invalid = ` aria-invalid="true" aria-describedby="bad"`
		dst = append(dst, `<p class="bad" id="bad" role="alert">`+passwordWrong+"</p>\n"...)
	case TooManyTries:
		invalid = ` aria-describedby="bad"`
		dst = append(dst, `<p class="bad" id="bad" role="alert">`+passwordWait...)
		dst = appendWait(dst, wait)
		dst = append(dst, ".</p>\n"...)
	}
	dst = append(dst, "<form method=\"post\">\n<label for=\"password\">"+passwordLabel+"</label>\n"+
		`<input id="password" name="password" type="password" required autofocus autocomplete="off" autocapitalize="none" spellcheck="false"`...)
	dst = append(dst, invalid...)
	dst = append(dst, ">\n<button>"+passwordOpen+"</button>\n</form>\n"...)
	return append(dst, end...)
}

// appendWait appends a duration in words, rounded up.
func appendWait(dst []byte, wait time.Duration) []byte {
	say := func(n int64, one, many string) []byte {
		if n <= 1 {
			return append(dst, one...)
		}
		return append(append(strconv.AppendInt(dst, n, 10), ' '), many...)
	}
	up := func(unit time.Duration) int64 { return int64((wait + unit - 1) / unit) }
	switch {
	case wait <= 59*time.Second:
		return say(up(time.Second), passwordSecond, passwordSeconds)
	case wait <= 59*time.Minute:
		return say(up(time.Minute), passwordMinute, passwordMinutes)
	default:
		return say(up(time.Hour), passwordHour, passwordHours)
	}
}
