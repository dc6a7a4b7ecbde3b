package option

import (
	"net/netip"
	"time"

	"github.com/linkstream/linkstream/services/internal/agent"
)

// Visitor is who asks, as far as the request tells. What has to be looked up is looked
// up when a condition asks for it, once. Its slices may point into the request.
type Visitor struct {
	Now            time.Time
	Address        netip.Addr
	UserAgent      []byte
	AcceptLanguage []byte
	Purpose        []byte // Sec-Purpose or Purpose
	Query          []byte

	senses  *Senses
	knows   uint8
	isWhere place
	isWho   kind
	speaks  []byte
}

const (
	knowsWhere = 1 << iota
	knowsWho
	knowsLanguage
)

// Meet begins with a new visitor, who is looked up by these senses.
func (v *Visitor) Meet(s *Senses) { *v = Visitor{senses: s} }

func (v *Visitor) where() *place {
	if v.knows&knowsWhere == 0 {
		v.knows |= knowsWhere
		v.isWhere = v.senses.place(v.Address)
	}
	return &v.isWhere
}

func (v *Visitor) who() *kind {
	if v.knows&knowsWho == 0 {
		v.knows |= knowsWho
		v.isWho = v.senses.kind(v.UserAgent)
	}
	return &v.isWho
}

func (v *Visitor) language() []byte {
	if v.knows&knowsLanguage == 0 {
		v.knows |= knowsLanguage
		v.speaks = preferred(v.AcceptLanguage)
	}
	return v.speaks
}

// Bot says whether the visitor is a program, or a browser ahead of its person. Clicks are
// counted by the same.
func (v *Visitor) Bot() bool { return v.who().bot != "" || agent.Automatic(v.Purpose) != "" }

// PreviewBot says whether it is a program that fetches a page to show a card of it.
func (v *Visitor) PreviewBot() bool { return v.who().bot == agent.SocialPreview }

// Spends says whether a redirect for the visitor is one of those that a limit counts:
// bots and prefetches are not. Programs that people write and drive (HTTP libraries,
// automated browsers) are: otherwise a limit would be none for whoever calls himself one.
func (v *Visitor) Spends() bool {
	switch v.who().bot {
	case "", agent.Library, agent.Automation:
		return agent.Automatic(v.Purpose) == ""
	}
	return false
}
