package redirect

import (
	"html"
	"strings"
)

// pageHTML is the whole of every page: no script, nothing to load, readable in
// light and dark, on a phone and by a screen reader.
const pageHTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root{--bg:#fbfbfa;--fg:#1c1d1f;--dim:#5c6066}
@media (prefers-color-scheme:dark){:root{--bg:#131416;--fg:#ececed;--dim:#a0a4ab}}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--bg);color:var(--fg);font:1.0625rem/1.6 system-ui,sans-serif}
main{max-width:28rem;padding:2rem}
h1{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25}
p{margin:0;color:var(--dim)}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{text}</p>
</main>
</body>
</html>
`

func page(title, text string) []byte {
	return []byte(strings.NewReplacer("{title}", html.EscapeString(title), "{text}", html.EscapeString(text)).Replace(pageHTML))
}

// pages are made once. They show nothing of the request, so nothing of it can
// get into them.
type pages struct {
	home, unknown, gone, unavailable, method, tooMany, bad, robots []byte
}

func newPages() pages {
	return pages{
		home:        page("Short links live here", "This address shortens links. To follow one, open its full address."),
		unknown:     page("No link here", "There is no link at this address. Check that it was copied whole, capitals included."),
		gone:        page("This link has expired", "Its owner set it to end, and it has. Ask whoever shared it for a new one."),
		unavailable: page("One moment, please", "This link cannot be looked up right now. Try again in a few seconds."),
		method:      page("Not possible here", "A short link can only be opened."),
		tooMany:     page("A little slower, please", "Too many requests come from your network. Try again in a few seconds."),
		bad:         page("That request makes no sense", "It could not be read."),
		robots:      []byte("User-agent: *\nDisallow: /\n"),
	}
}
