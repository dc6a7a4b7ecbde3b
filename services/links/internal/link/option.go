package link

import (
	"slices"
	"time"

	"github.com/linkstream/linkstream/services/internal/linkoption"
)

// maxVariantsBytes bounds the targets of all variants together, as linkoption does for
// rules: an edge holds them in memory.
const maxVariantsBytes = 64 << 10

// Options are what a link asks of the edge beyond its destination. The zero value is
// none of them.
type Options struct {
	Rules []linkoption.Rule
	Split linkoption.Split
	UTM   linkoption.UTM
	// Preview is what preview bots are shown.
	Preview linkoption.Preview
	// ForwardPath puts what is asked for beneath the slug behind the target's path.
	ForwardPath bool
}

// IsZero says whether the link has none of the options.
func (o *Options) IsZero() bool { return sameOptions(o, &Options{}) }

func sameOptions(a, b *Options) bool {
	return linkoption.EqualRules(a.Rules, b.Rules) && a.Split.Equal(b.Split) &&
		a.UTM == b.UTM && a.Preview == b.Preview && a.ForwardPath == b.ForwardPath
}

// OptionsChange is what a request says about options. Lists are replaced as a whole;
// campaign parameters and preview are merged member by member.
type OptionsChange struct {
	Rules         Optional[[]linkoption.Rule]
	Variants      Optional[[]linkoption.Variant]
	VariantsEndAt Optional[*time.Time]
	// VariantsWinner is counted from 1; 0 means none.
	VariantsWinner Optional[int]
	UTM            UTMChange
	Preview        PreviewChange
	ForwardPath    Optional[bool]
}

// UTMChange is what a request says about campaign parameters. A cleared one is set to "".
type UTMChange struct {
	// Clear drops those that the link has, before the others are set.
	Clear                                   bool
	Source, Medium, Campaign, Term, Content Optional[string]
}

// Set says whether the request names campaign parameters at all.
func (c *UTMChange) Set() bool { return *c != UTMChange{} }

// On is what becomes of the parameters that a link has.
func (c *UTMChange) On(u linkoption.UTM) linkoption.UTM {
	if c.Clear {
		u = linkoption.UTM{}
	}
	c.Source.assign(&u.Source)
	c.Medium.assign(&u.Medium)
	c.Campaign.assign(&u.Campaign)
	c.Term.assign(&u.Term)
	c.Content.assign(&u.Content)
	return u
}

// PreviewChange is what a request says about the preview. A cleared member is set to "".
type PreviewChange struct {
	// Clear drops the preview that the link has, before the members are set.
	Clear              bool
	Title, Text, Image Optional[string]
}

// Set says whether the request names the preview at all.
func (c *PreviewChange) Set() bool { return *c != PreviewChange{} }

// On is what becomes of the preview that a link has.
func (c *PreviewChange) On(p linkoption.Preview) linkoption.Preview {
	if c.Clear {
		p = linkoption.Preview{}
	}
	c.Title.assign(&p.Title)
	c.Text.assign(&p.Text)
	c.Image.assign(&p.Image)
	return p
}

// check holds the named options against the rules and brings them into the stored form.
func (c *OptionsChange) check(target linkoption.Target, wrong *FieldErrors) {
	if c.Rules.Set {
		rules, errs := linkoption.CheckRules(c.Rules.Value, target)
		c.Rules.Value = rules
		wrong.addOptions(errs)
	}
	if c.Variants.Set {
		split, errs := linkoption.CheckSplit(linkoption.Split{Variants: c.Variants.Value}, target)
		c.Variants.Value = split.Variants
		wrong.addOptions(errs)
		size := 0
		for _, v := range split.Variants {
			size += len(v.Destination)
		}
		if size > maxVariantsBytes {
			wrong.addf("variants", CodeTooLong, "the variants' destinations have at most %d bytes together", maxVariantsBytes)
		}
	}
	if t := c.VariantsEndAt.Value; t != nil {
		cut := t.UTC().Truncate(time.Millisecond) // as CheckSplit stores it
		c.VariantsEndAt.Value = &cut
	}
	if c.UTM.Set() {
		wrong.addOptions(linkoption.CheckUTM(c.UTM.On(linkoption.UTM{})))
	}
	if c.Preview.Set() {
		preview, errs := linkoption.CheckPreview(c.Preview.On(linkoption.Preview{}), target)
		if c.Preview.Image.Set {
			c.Preview.Image.Value = preview.Image
		}
		wrong.addOptions(errs)
	}
}

// namesSplit says whether the change says anything about variants.
func (c *OptionsChange) namesSplit() bool {
	return c.Variants.Set || c.VariantsEndAt.Set || c.VariantsWinner.Set
}

// apply writes the named options. It fails when end and winner do not go with the
// variants that the link would have.
func (c *OptionsChange) apply(o *Options) error {
	c.Rules.assign(&o.Rules)
	o.UTM, o.Preview = c.UTM.On(o.UTM), c.Preview.On(o.Preview)
	c.ForwardPath.assign(&o.ForwardPath)
	if !c.namesSplit() {
		return nil
	}
	if c.Variants.Set {
		o.Split.Variants = c.Variants.Value
		if len(c.Variants.Value) == 0 {
			o.Split = linkoption.Split{} // end and winner go with the last variant
		}
	}
	c.VariantsEndAt.assign(&o.Split.EndsAt)
	c.VariantsWinner.assign(&o.Split.Winner)
	split, errs := linkoption.CheckSplit(o.Split, asStored)
	o.Split = split
	var wrong FieldErrors
	wrong.addOptions(errs)
	return wrong.Err()
}

// asStored judges no destination: those that are named have been.
func asStored(_, destination string) (string, *linkoption.FieldError) { return destination, nil }

// fits says whether a link's options are those that the change gives.
func (c *OptionsChange) fits(o *Options) bool {
	return (!c.Rules.Set || linkoption.EqualRules(c.Rules.Value, o.Rules)) &&
		(!c.Variants.Set || slices.Equal(c.Variants.Value, o.Split.Variants)) &&
		(!c.VariantsEndAt.Set || sameTime(c.VariantsEndAt.Value, o.Split.EndsAt)) &&
		fits(c.VariantsWinner, o.Split.Winner) &&
		(!c.UTM.Set() || c.UTM.On(linkoption.UTM{}) == o.UTM) &&
		(!c.Preview.Set() || c.Preview.On(linkoption.Preview{}) == o.Preview) &&
		fits(c.ForwardPath, o.ForwardPath)
}

func (i *FieldErrors) addOptions(errs []linkoption.FieldError) {
	for _, e := range errs {
		i.Add(e.Field, Code(e.Code), e.Detail)
	}
}

// target is the check of a destination for package linkoption. It notes the host.
func (r *Rules) target(hosts map[string]string) linkoption.Target {
	return func(field, raw string) (string, *linkoption.FieldError) {
		target, err := parseDestination(raw, r.Schemes)
		if err != nil {
			return "", &linkoption.FieldError{Field: field, Code: linkoption.Code(err.code), Detail: err.detail}
		}
		hosts[field] = target.host
		return target.url, nil
	}
}
