package linkoption

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a zone is valid on every machine or on none
)

// CheckRules holds rules against the limits. It returns them in the form that is stored.
func CheckRules(rules []Rule, target Target) ([]Rule, []FieldError) {
	var wrong problems
	if len(rules) > MaxRules {
		wrong.addf("rules", CodeTooMany, "a link has at most %d rules", MaxRules)
		return nil, wrong
	}
	out, size := make([]Rule, len(rules)), 0
	for i, rule := range rules {
		field := fmt.Sprintf("rules[%d]", i)
		out[i] = Rule{Destination: rule.Destination}
		wrong.target(target, field+".destination", &out[i].Destination)
		size += len(out[i].Destination)
		switch n := len(rule.Conditions); {
		case n == 0:
			wrong.add(field+".conditions", CodeRequired, "a rule needs a condition")
		case n > MaxConditions:
			wrong.addf(field+".conditions", CodeTooMany, "a rule has at most %d conditions", MaxConditions)
			continue
		}
		for j, c := range rule.Conditions {
			checked := checkCondition(fmt.Sprintf("%s.conditions[%d]", field, j), c, &wrong)
			for _, value := range checked.Values {
				size += len(value)
			}
			out[i].Conditions = append(out[i].Conditions, checked)
		}
	}
	if size > MaxRulesBytes {
		wrong.addf("rules", CodeTooLong, "the rules have at most %d bytes together", MaxRulesBytes)
	}
	return out, wrong
}

func checkCondition(field string, c Condition, wrong *problems) Condition {
	if !slices.Contains(Types(), c.Type) {
		wrong.addf(field+".type", CodeInvalid, "the type must be one of %s", strings.Join(typeNames(), ", "))
		return c
	}
	if c.Type == Time {
		return checkTime(field, c, wrong)
	}
	if c.Zone != "" || c.Weekdays != nil || c.From != "" || c.To != "" || c.StartsAt != nil || c.EndsAt != nil {
		wrong.add(field, CodeInvalid, "only a time condition has zone, weekdays, from, to, starts_at and ends_at")
	}
	out := Condition{Type: c.Type, Values: make([]string, 0, len(c.Values))}
	if c.Type == Bot && len(c.Values) == 0 {
		out.Values = append(out.Values, "true")
		return out
	}
	switch n := len(c.Values); {
	case n == 0:
		wrong.add(field+".values", CodeRequired, "the condition needs a value")
	case n > MaxValues:
		wrong.addf(field+".values", CodeTooMany, "a condition has at most %d values", MaxValues)
		return out
	}
	for i, value := range c.Values {
		at := fmt.Sprintf("%s.values[%d]", field, i)
		before := len(*wrong)
		wrong.text(at, value, maxValue)
		normal, detail := normalValue(c.Type, value)
		if detail != "" && len(*wrong) == before {
			wrong.add(at, CodeInvalid, detail)
		}
		if !slices.Contains(out.Values, normal) {
			out.Values = append(out.Values, normal)
		}
	}
	return out
}

func typeNames() []string {
	names := make([]string, 0, len(Types()))
	for _, t := range Types() {
		names = append(names, string(t))
	}
	return names
}

// normalValue is the stored form of a value, or says what is wrong with it.
func normalValue(t Type, value string) (normal, detail string) {
	if t != Query {
		value = strings.TrimSpace(value)
	}
	switch t {
	case Country:
		value = strings.ToUpper(value)
		if len(value) != 2 || !all(value, func(c byte) bool { return 'A' <= c && c <= 'Z' }) {
			return value, "a country has the two letters of ISO 3166-1, for instance DE"
		}
	case Continent:
		value = strings.ToUpper(value)
		if !slices.Contains([]string{"AF", "AN", "AS", "EU", "NA", "OC", "SA"}, value) {
			return value, "a continent is AF, AN, AS, EU, NA, OC or SA"
		}
	case Region:
		if value == "" || strings.HasSuffix(value, "/") {
			return value, "a region has a name, for instance Bavaria or DE/Bavaria"
		}
	case Language:
		value = strings.ToLower(value)
		if !isLanguage(value) {
			return value, "a language is a tag like fr or pt-br"
		}
	case Device:
		value = strings.ToLower(value)
		if !slices.Contains([]string{"desktop", "mobile", "tablet", "tv"}, value) {
			return value, "a device is desktop, mobile, tablet or tv"
		}
	case OS, Browser:
		if value == "" {
			return value, "it has a name"
		}
	case Bot:
		value = strings.ToLower(value)
		if value != "true" && value != "false" {
			return value, "bot is true or false"
		}
	case Query:
		if value == "" || value[0] == '=' {
			return value, "a parameter has a name: name, or name=value"
		}
	case Address:
		return normalNetwork(value)
	case Time:
	}
	return value, ""
}

func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

// isLanguage is as wide as RFC 4647's language ranges, without their asterisk.
func isLanguage(tag string) bool {
	for i, part := range strings.Split(tag, "-") {
		letters := all(part, func(c byte) bool { return 'a' <= c && c <= 'z' })
		digits := all(part, func(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' })
		if part == "" || len(part) > 8 || !digits || i == 0 && !letters {
			return false
		}
	}
	return true
}

func normalNetwork(value string) (normal, detail string) {
	const wrong = "an address or a network in CIDR form, for instance 203.0.113.0/24"
	if addr, err := netip.ParseAddr(value); err == nil && addr.Zone() == "" {
		return addr.Unmap().String(), ""
	}
	network, err := netip.ParsePrefix(value)
	if err != nil || network.Addr().Is4In6() {
		return value, wrong
	}
	return network.Masked().String(), ""
}

func weekdayNames() []string { return []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"} }

func checkTime(field string, c Condition, wrong *problems) Condition {
	if len(c.Values) > 0 {
		wrong.add(field+".values", CodeInvalid, "a time condition has no values: set from and to, weekdays, starts_at, ends_at")
		return c
	}
	c.Values = nil
	if c.Weekdays == nil && c.From == "" && c.To == "" && c.StartsAt == nil && c.EndsAt == nil {
		wrong.add(field, CodeRequired, "a time condition sets from and to, weekdays, starts_at or ends_at")
	}
	if _, err := time.LoadLocation(c.Zone); err != nil || c.Zone == "Local" || len(c.Zone) > 64 {
		wrong.add(field+".zone", CodeInvalid, "the zone must be an IANA name, for instance Europe/Berlin")
	}
	c.Weekdays = slices.Clone(c.Weekdays)
	for i, day := range c.Weekdays {
		c.Weekdays[i] = strings.ToLower(day)
		if !slices.Contains(weekdayNames(), c.Weekdays[i]) {
			wrong.addf(fmt.Sprintf("%s.weekdays[%d]", field, i), CodeInvalid, "a weekday is one of %s", strings.Join(weekdayNames(), ", "))
		}
	}
	if len(c.Weekdays) > 0 {
		slices.SortFunc(c.Weekdays, func(a, b string) int {
			return slices.Index(weekdayNames(), a) - slices.Index(weekdayNames(), b)
		})
		c.Weekdays = slices.Compact(c.Weekdays)
	} else {
		c.Weekdays = nil
	}
	for _, at := range []struct {
		name, value string
		last        int
	}{{"from", c.From, 24*60 - 1}, {"to", c.To, 24 * 60}} {
		minute, ok := minuteOf(at.value)
		switch {
		case at.value == "" && c.From+c.To != "":
			wrong.addf(field+"."+at.name, CodeRequired, "from and to go together")
		case at.value != "" && (!ok || minute > at.last):
			wrong.add(field+"."+at.name, CodeInvalid, "a time of day has the form 09:00")
		}
	}
	c.StartsAt, c.EndsAt = inMillis(c.StartsAt), inMillis(c.EndsAt)
	if c.StartsAt != nil && c.EndsAt != nil && !c.StartsAt.Before(*c.EndsAt) {
		wrong.add(field+".ends_at", CodeInvalid, "ends_at must be after starts_at")
	}
	for name, t := range map[string]*time.Time{"starts_at": c.StartsAt, "ends_at": c.EndsAt} {
		if t != nil && (t.Year() < 1 || t.Year() > 9999) {
			wrong.add(field+"."+name, CodeInvalid, "the year must be between 1 and 9999")
		}
	}
	return c
}

// inMillis cuts a time to what edges compare.
func inMillis(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	cut := t.UTC().Truncate(time.Millisecond)
	return &cut
}

// minuteOf reads HH:MM as minutes since midnight, up to 24:00.
func minuteOf(s string) (int, bool) {
	if len(s) != 5 || s[2] != ':' || !all(s[:2]+s[3:], func(c byte) bool { return '0' <= c && c <= '9' }) {
		return 0, false
	}
	hour, minute := int(s[0]-'0')*10+int(s[1]-'0'), int(s[3]-'0')*10+int(s[4]-'0')
	return hour*60 + minute, minute < 60 && hour*60+minute <= 24*60
}

func clock(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }
