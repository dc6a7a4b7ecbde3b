// Package transfer brings links in from files, and out into them.
//
// It promises that a file's rows become links once each, whatever is killed meanwhile:
// the links of some rows and the note that these rows are done are one transaction. A
// row that the rules refuse fails alone and says why in the report. Memory is bounded
// whatever the file: rows are read, stored and made in chunks. It refuses files over
// MaxBytes or MaxRows, to set passwords, and to invent history: what another tool
// counted or when it made a link goes into the link's notes, not into our own figures.
//
// # Files
//
// CSV has a line of names first. Names are compared without case, spaces, dashes and
// underscores; unknown ones are ignored and listed with the job. The separator is the one
// of comma, semicolon, tab and bar that the first line has most of. Text is UTF-8,
// UTF-16 with a byte order mark, or, row by row where it is not valid UTF-8,
// Windows-1252; the job says which. JSON lines have an object in each line, with the members of
// the API's own links or the columns of another tool.
//
// # What becomes of other tools' columns
//
//	ours           Bitly                     YOURLS     Shlink      Kutt         Dub
//	destination    Long URL, long_url        url        longUrl     target       Destination URL, url
//	slug           Custom back-half, Bitlink keyword    shortCode   address      Slug, key, Short link
//	title          Title                     title      title       -            Title
//	notes          -                         -          -           description  Comments, Description
//	tags           Tags                      -          tags        -            Tags
//	archived       archived                  -          -           -            Archived
//	disabled       -                         -          -           banned       -
//	starts_at      -                         -          validSince  -            -
//	expires_at     -                         -          validUntil  expire_in    Expires at
//	fallback_url   -                         -          -           -            Expired URL
//	max_clicks     -                         -          maxVisits   -            -
//	utm            -                         -          -           -            utm_source and so on
//	in the notes   created, clicks           timestamp, createdAt,  created_at,  Created at,
//	               (engagements, scans)      clicks     visits      visit_count  Clicks
//
// A slug that is given as an address (bit.ly/abc, https://dub.sh/abc) is its path. Hosts
// of other tools are not ours: links are made on the domain that the request names, or
// the default one. Rows whose link has a password fail, because no export holds it and
// without one the link would be open to everybody.
//
// Sources: Bitly, the fields of a link in its API v4 and the columns of its bulk upload;
// YOURLS, the table yourls_url (keyword, url, title, timestamp, ip, clicks), which is what
// its export plugins write, with or without a line of names; Shlink, ExportableShortUrl of
// shlink-web-component (createdAt, title, shortUrl, domain, shortCode, longUrl, tags, visits)
// and meta of its API; Kutt, the table links of its model, because it has no export of its
// own; Dub, exportLinksColumns of dub (identifiers and labels). Shlink's were read in its source in November 2026; the
// others are from what is public of their APIs, models and tables, and no export of theirs was at hand.
package transfer
