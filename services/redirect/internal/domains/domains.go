// Package domains is what an edge knows of the hosts that links live on: where their
// root and their unknown slugs lead, and whether their slugs ignore case.
//
// It promises that a look-up takes no lock and allocates nothing, that a table is
// replaced as a whole and only by a newer one, and that the region's Redis holds a copy
// of it, so that an edge which starts while links is away knows the domains, too.
//
// It refuses to say that a host is unknown before it has any table: that is for those
// who know to say.
package domains

import (
	"sync"
	"sync/atomic"
)

// Domain is one host that links live on, as it stands in the region's copy.
type Domain struct {
	// Host is in normal form (package address).
	Host string `json:"host"`
	// FoldCase says that slugs are looked up in lower case.
	FoldCase bool `json:"fold_case,omitempty"`
	// Home is where / leads, Fallback where an unknown slug and an expired link lead.
	// Empty means nowhere.
	Home     string `json:"home_url,omitempty"`
	Fallback string `json:"fallback_url,omitempty"`
	// NoPreview says that its links have no preview page.
	NoPreview bool `json:"no_preview,omitempty"`
}

// Table is all domains at one revision. It is safe for concurrent use.
type Table struct {
	now  atomic.Pointer[state]
	news chan struct{} // one token: there is a newer one than the copy

	taking sync.Mutex
}

// state never changes.
type state struct {
	revision uint64
	domains  []Domain
	byHost   map[string]*Domain
}

// New returns a table that knows nothing yet.
func New() *Table { return &Table{news: make(chan struct{}, 1)} }

// Find returns the domain with a host in normal form, or nil. known is false as long as
// there is no table: then a host that is not found may be one all the same.
func (t *Table) Find(host []byte) (d *Domain, known bool) {
	s := t.now.Load()
	if s == nil {
		return nil, false
	}
	return s.byHost[string(host)], true
}

// Revision is that of the table, 0 for none.
func (t *Table) Revision() uint64 {
	if s := t.now.Load(); s != nil {
		return s.revision
	}
	return 0
}

// Take replaces the table by a newer one; another is ignored. The domains are kept and
// must not be changed any more.
func (t *Table) Take(revision uint64, domains []Domain) {
	t.taking.Lock()
	defer t.taking.Unlock()
	if revision <= t.Revision() {
		return
	}
	s := &state{revision: revision, domains: domains, byHost: make(map[string]*Domain, len(domains))}
	for i := range domains {
		s.byHost[domains[i].Host] = &domains[i]
	}
	t.now.Store(s)
	select {
	case t.news <- struct{}{}:
	default:
	}
}
