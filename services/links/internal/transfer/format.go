package transfer

import (
	"slices"
	"strings"
)

// Format is whose file it is. The list is closed.
type Format string

// The formats. Auto looks at the first line.
const (
	Auto   Format = "auto"
	CSV    Format = "csv"
	JSONL  Format = "jsonl"
	Bitly  Format = "bitly"
	YOURLS Format = "yourls"
	Shlink Format = "shlink"
	Kutt   Format = "kutt"
	Dub    Format = "dub"
)

// Formats are all of them, for documents and messages.
func Formats() []string {
	return []string{string(Auto), string(CSV), string(JSONL), string(Bitly), string(YOURLS), string(Shlink), string(Kutt), string(Dub)}
}

// Name is the tool's name as people write it.
func (f Format) name() string {
	switch f {
	case Bitly:
		return "Bitly"
	case Shlink:
		return "Shlink"
	case Kutt:
		return "Kutt"
	case Dub:
		return "Dub"
	case YOURLS:
		return "YOURLS"
	case Auto, CSV, JSONL:
	}
	return ""
}

// What a column can be beside a member of a link.
const (
	toShortURL = "(short url)" // the slug is its path
	toOwnURL   = "(own url)"   // likewise, and it goes before
	toCreated  = "(created)"   // these two go into the notes
	toClicks   = "(clicks)"
	toNothing  = "(nothing)" // known, and not wanted
	toLocked   = "has_password"
)

// columns say what becomes of a column, by its normal name. Members of a link are in the
// table of every format under their own names.
type columns map[string]string

// tableOf is the format's table. Of several columns for one thing the first that has a
// value wins.
func tableOf(f Format) columns {
	switch f {
	case Bitly:
		return columns{
			"longurl": "destination", "destinationurl": "destination", "destination": "destination", "url": "destination", "originalurl": "destination",
			"custombackhalf": "slug", "backhalf": "slug", "keyword": "slug", "custombitlinks": toOwnURL, "custombitlink": toOwnURL,
			"bitlink": toShortURL, "shortlink": toShortURL, "shorturl": toShortURL, "link": toShortURL, "id": toShortURL,
			"title": "title", "linktitle": "title", "name": "title", "tags": "tags", "tag": "tags", "archived": "archived",
			"created": toCreated, "createdat": toCreated, "createddate": toCreated, "datecreated": toCreated, "creationdate": toCreated,
			"clicks": toClicks, "totalclicks": toClicks, "engagements": toClicks, "totalengagements": toClicks,
			"scans": toNothing, "domain": toNothing, "guid": toNothing, "groupguid": toNothing, "createdby": toNothing, "clientid": toNothing, "deeplinks": toNothing, "references": toNothing,
		}
	case YOURLS:
		return columns{
			"url": "destination", "longurl": "destination", "keyword": "slug", "shorturl": toShortURL, "title": "title",
			"timestamp": toCreated, "date": toCreated, "clicks": toClicks, "ip": toNothing,
		}
	case Shlink:
		return columns{
			"longurl": "destination", "shortcode": "slug", "customslug": "slug", "shorturl": toShortURL, "title": "title", "tags": "tags",
			"validsince": "starts_at", "validuntil": "expires_at", "maxvisits": "max_clicks",
			"createdat": toCreated, "datecreated": toCreated, "visits": toClicks, "visitscount": toClicks,
			"domain": toNothing, "crawlable": toNothing, "forwardquery": toNothing, "visitssummary": toNothing, "meta": toNothing,
		}
	case Kutt:
		return columns{
			"target": "destination", "address": "slug", "customurl": "slug", "link": toShortURL, "description": "notes", "banned": "disabled", "expirein": "expires_at",
			"createdat": toCreated, "visitcount": toClicks, "password": toLocked,
			"id": toNothing, "uuid": toNothing, "domain": toNothing, "domainid": toNothing, "userid": toNothing, "updatedat": toNothing, "bannedbyid": toNothing,
		}
	case Dub:
		return columns{
			"destinationurl": "destination", "url": "destination", "key": "slug", "slug": "slug", "shortlink": toShortURL, "link": toShortURL,
			"title": "title", "comments": "notes", "description": "notes", "tags": "tags", "archived": "archived",
			"expiresat": "expires_at", "expiredurl": "fallback_url", "password": toLocked,
			"createdat": toCreated, "clicks": toClicks, "totalclicks": toClicks,
			"domain": toNothing, "id": toNothing, "image": toNothing, "updatedat": toNothing, "userid": toNothing, "projectid": toNothing, "workspaceid": toNothing,
			"lastclicked": toNothing, "leads": toNothing, "conversions": toNothing, "sales": toNothing, "saleamount": toNothing, "proxy": toNothing,
		}
	case Auto, CSV, JSONL:
	}
	return columns{
		"destinationurl": "destination", "url": "destination", "longurl": "destination", "target": "destination", "targeturl": "destination", "originalurl": "destination",
		"keyword": "slug", "shortcode": "slug", "alias": "slug", "key": "slug", "backhalf": "slug", "custombackhalf": "slug", "path": "slug",
		"shorturl": toShortURL, "shortlink": toShortURL,
		"name": "title", "tag": "tags", "labels": "tags", "note": "notes", "comments": "notes", "comment": "notes", "description": "notes",
		"host": "domain", "status": "status_code", "redirecttype": "status_code", "redirectcode": "status_code",
		"validfrom": "starts_at", "validsince": "starts_at", "expires": "expires_at", "expiry": "expires_at", "validuntil": "expires_at", "expirationdate": "expires_at",
		"expiredurl": "fallback_url", "maxvisits": "max_clicks", "clicklimit": "max_clicks",
		"id": toNothing, "version": toNothing, "createdat": toNothing, "updatedat": toNothing,
	}
}

// members are those of a link that a row may say something about.
var members = []string{ //nolint:gochecknoglobals // a constant list; Go has no constant slices
	"destination", "domain", "slug", "title", "tags", "notes", "status_code", "starts_at", "expires_at", "fallback_url", "archived",
	"forward_query", "disabled", "max_clicks", "password", "forward_path", "utm", "rules", "variants", "variants_end_at", "variants_winner", "preview",
	"utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", toLocked,
}

// normal is the form in which names of columns are compared.
func normal(name string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "", ".", "").Replace(strings.ToLower(strings.TrimSpace(name)))
}

// find says what becomes of a column.
func (t columns) find(name string) (string, bool) {
	name = normal(name)
	if to, ok := t[name]; ok {
		return to, true
	}
	for _, m := range members {
		if normal(m) == name {
			return m, true
		}
	}
	return "", false
}

// guess says whose file has these names.
func guess(names []string) Format {
	var has []string
	for _, n := range names {
		has = append(has, normal(n))
	}
	hasOne := func(of ...string) bool {
		return slices.ContainsFunc(of, func(n string) bool { return slices.Contains(has, n) })
	}
	switch {
	case hasOne("shortcode") && hasOne("longurl"):
		return Shlink
	case hasOne("keyword") && hasOne("url") && hasOne("timestamp", "ip", "clicks"):
		return YOURLS
	case hasOne("address") && hasOne("target"):
		return Kutt
	case hasOne("bitlink", "custombackhalf", "backhalf", "custombitlinks") || hasOne("longurl") && hasOne("link", "shortlink"):
		return Bitly
	case hasOne("destination"): // our own name
		return CSV
	case hasOne("shortlink") && hasOne("destinationurl"), hasOne("key") && hasOne("url"), hasOne("link") && hasOne("url"):
		return Dub
	}
	return CSV
}

// yourlsColumns are those of a file without a line of names.
var yourlsColumns = []string{"keyword", "url", "title", "timestamp", "ip", "clicks"} //nolint:gochecknoglobals // likewise
