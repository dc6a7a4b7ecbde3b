package query

// Dimension is something that clicks can be grouped and filtered by.
type Dimension string

// The closed list of dimensions, by their names in the API.
const (
	Link           Dimension = "link"
	Domain         Dimension = "domain"
	Tag            Dimension = "tag" // of the link now, not when it was clicked
	Country        Dimension = "country"
	Region         Dimension = "region"
	City           Dimension = "city"
	Continent      Dimension = "continent"
	Device         Dimension = "device"
	OS             Dimension = "os"
	Browser        Dimension = "browser"
	Language       Dimension = "language"
	Referrer       Dimension = "referrer"
	ReferrerSource Dimension = "referrer_source"
	ReferrerMedium Dimension = "referrer_medium"
	UTMSource      Dimension = "utm_source"
	UTMMedium      Dimension = "utm_medium"
	UTMCampaign    Dimension = "utm_campaign"
	UTMTerm        Dimension = "utm_term"
	UTMContent     Dimension = "utm_content"
	EdgeRegion     Dimension = "edge_region"
	Status         Dimension = "status"
	Variant        Dimension = "variant"
	Rule           Dimension = "rule"
	Source         Dimension = "source"
	Bot            Dimension = "bot"
	BotKind        Dimension = "bot_kind"
)

// Dimensions lists them all, in the order of the documentation.
func Dimensions() []Dimension {
	return []Dimension{
		Link, Domain, Tag, Country, Region, City, Continent, Device, OS, Browser, Language, Referrer, ReferrerSource,
		ReferrerMedium, UTMSource, UTMMedium, UTMCampaign, UTMTerm, UTMContent, EdgeRegion, Status, Variant, Rule, Source,
		Bot, BotKind,
	}
}

// column is the only way from a dimension to a name in SQL, and kind the type that
// its values are compared as. Tag has a column only where links are joined.
func (d Dimension) column() (column, kind string) {
	const text = "String"
	switch d {
	case Link:
		return "link_id", "UUID"
	case Domain:
		return "host", text
	case Tag:
		return "tag", text
	case Status:
		return "status", "UInt16"
	case Variant, Rule:
		return string(d), "UInt8"
	case Bot:
		return "bot", "Bool"
	case Country, Region, City, Continent, Device, OS, Browser, Language, Referrer, ReferrerSource, ReferrerMedium,
		UTMSource, UTMMedium, UTMCampaign, UTMTerm, UTMContent, EdgeRegion, Source, BotKind:
		return string(d), text // their columns have the API's names
	default:
		panic("unknown dimension " + string(d))
	}
}

// ofLink says that the dimension is known of the link alone, whoever clicks.
func (d Dimension) ofLink() bool { return d == Link || d == Domain || d == Tag }

// rolledUp says whether clicks_by_value has sums of the dimension's values.
func (d Dimension) rolledUp() bool {
	switch d {
	case Link, Domain, Tag, Bot, Variant, Rule: // the last two are of no use over links
		return false
	case Country, Region, City, Continent, Device, OS, Browser, Language, Referrer, ReferrerSource, ReferrerMedium,
		UTMSource, UTMMedium, UTMCampaign, UTMTerm, UTMContent, EdgeRegion, Status, Source, BotKind:
		return true
	default:
		panic("unknown dimension " + string(d))
	}
}

// text is the dimension's value in an answer.
func (d Dimension) text() string {
	column, _ := d.column()
	return "toString(" + column + ")"
}
