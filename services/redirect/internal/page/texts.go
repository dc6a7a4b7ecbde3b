package page

// All that the pages say, in English. A page in another language is these in it, with its
// lang in html.go.
const (
	homeTitle        = "Short links live here"
	homeText         = "This address shortens links. To follow one, open its full address."
	unknownTitle     = "No link here"
	unknownText      = "There is no link at this address. Check that it was copied whole, capitals included."
	notStartedTitle  = "Not open yet"
	notStartedText   = "This link opens at a later time. Come back then, or ask whoever shared it."
	goneTitle        = "This link has ended"
	goneText         = "Its owner has closed it, or it has reached its end. Ask whoever shared it for a new one."
	unavailableTitle = "One moment, please"
	unavailableText  = "This link cannot be looked up right now. Try again in a few seconds."
	methodTitle      = "Not possible here"
	methodText       = "A short link can only be opened."
	tooManyTitle     = "A little slower, please"
	tooManyText      = "Too many requests come from your network. Try again in a few seconds."
	badTitle         = "That request makes no sense"
	badText          = "It could not be read."

	previewTitle     = "Where this link leads" // of the window; the link follows
	previewLead      = "leads to"              // behind the link
	previewProtected = "A password opens this link"
	previewHidden    = "Where it leads is shown to those who know the password."
	previewVaries    = "It can lead elsewhere, depending on who opens it and when."
	previewNamed     = "Title"
	previewCreated   = "Created"
	previewContinue  = "Continue"

	passwordTitle = "This link needs a password"
	passwordText  = "Whoever shared it with you knows it."
	passwordLabel = "Password"
	passwordOpen  = "Open the link"
	passwordWrong = "That is not the password. Try again."
	// Behind passwordWait comes for how long.
	passwordWait    = "Too many wrong passwords. Try again in "
	passwordSecond  = "a second"
	passwordSeconds = "seconds"
	passwordMinute  = "a minute"
	passwordMinutes = "minutes"
	passwordHour    = "an hour"
	passwordHours   = "hours"

	cardContinue = "Continue"

	dateLayout = "2 January 2006"
)
