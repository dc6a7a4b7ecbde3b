package page

// Card is what a preview bot is told of a link.
type Card struct {
	// Host is the link's, in normal form.
	Host string
	// Title, Text and Image are those that the link's owner chose. Image is an absolute
	// URL. What is empty is left out; without a title the host stands for one.
	Title, Text, Image string
	// Destination is what is linked to, in case it is a person who sees the card after all.
	// Empty for no link: when a password guards it.
	Destination string
}

// AppendCard appends a page for preview bots: Open Graph and Twitter's names for the same.
// It names no address of its own, so that the card belongs to the one that was asked for.
func AppendCard(dst []byte, c *Card) []byte {
	title := c.Title
	if title == "" {
		title = display(c.Host)
	}
	var meta []byte
	add := func(kind, name, value string, limit int) {
		meta = append(meta, "<meta "+kind+`="`+name+`" content="`...)
		at := len(meta)
		meta = append(meta[:at], appendText(nil, value, limit)...)
		meta = append(meta, "\">\n"...)
	}
	add("property", "og:type", "website", maxTitle)
	add("property", "og:site_name", display(c.Host), maxHost)
	add("property", "og:title", title, maxTitle)
	add("name", "twitter:title", title, maxTitle)
	if c.Text != "" {
		add("name", "description", c.Text, maxText)
		add("property", "og:description", c.Text, maxText)
		add("name", "twitter:description", c.Text, maxText)
	}
	kind := "summary"
	if web(c.Image) && len(c.Image) <= maxHref {
		kind = "summary_large_image"
		add("property", "og:image", c.Image, maxHref)
		add("name", "twitter:image", c.Image, maxHref)
	}
	add("name", "twitter:card", kind, maxTitle)
	dst = open(dst, title, string(meta), iconLink)
	dst = appendElement(dst, "h1", title, maxTitle)
	if c.Text != "" {
		dst = appendElement(dst, "p", c.Text, maxText)
	}
	if web(c.Destination) && len(c.Destination) <= maxHref {
		dst = append(dst, `<a class="go" rel="nofollow" href="`...)
		dst = appendText(dst, c.Destination, maxHref)
		dst = append(dst, "\">"+cardContinue+"</a>\n"...)
	}
	return append(dst, end...)
}
