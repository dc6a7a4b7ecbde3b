package page

// Fixed are the pages that show nothing of a request or a link, so that nothing of them
// can get into one. They are made once.
type Fixed struct {
	// Home is for / of a domain without a page of its own.
	Home []byte
	// Unknown, NotStarted and Gone say why there is no redirect.
	Unknown, NotStarted, Gone []byte
	// Unavailable is for when nobody who knows can be asked.
	Unavailable []byte
	// TooMany, Method and Bad refuse a request.
	TooMany, Method, Bad []byte
}

// NewFixed makes them.
func NewFixed() Fixed {
	fixed := func(title, text, icon string) []byte {
		dst := open(nil, title, noIndex, icon)
		dst = appendHeading(dst, title)
		dst = appendParagraph(dst, "", text)
		return append(dst, end...)
	}
	return Fixed{
		Home:        fixed(homeTitle, homeText, iconLink),
		Unknown:     fixed(unknownTitle, unknownText, iconBroken),
		NotStarted:  fixed(notStartedTitle, notStartedText, iconClock),
		Gone:        fixed(goneTitle, goneText, iconClock),
		Unavailable: fixed(unavailableTitle, unavailableText, iconClock),
		TooMany:     fixed(tooManyTitle, tooManyText, iconClock),
		Method:      fixed(methodTitle, methodText, iconBroken),
		Bad:         fixed(badTitle, badText, iconBroken),
	}
}
