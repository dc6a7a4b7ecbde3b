package events

import (
	"container/list"
	"context"
	"sync"
)

// Versions remembers how far each link has been handled, so that a state which
// is not newer is not handled again. Numbers are revisions (LinkChanged.Revision):
// they only grow for one link, also after the database was restored.
//
// Where it is kept decides what it promises. In the store that holds the effects,
// written in the transaction that makes the effect, each state has its effect once:
// then Handled has nothing left to do. In memory it ends with the process, and the
// first records after a start may have been handled before.
//
// Calls for one link follow each other; calls for different links do not.
type Versions interface {
	// Last is the revision that the link was last handled with, 0 for none.
	Last(ctx context.Context, link ID) (uint64, error)
	// Handled is called after a handler has returned without an error.
	Handled(ctx context.Context, link ID, revision uint64) error
}

// MemoryVersions are Versions in memory, for a bounded number of links.
type MemoryVersions struct {
	mu    sync.Mutex
	limit int
	links map[ID]*list.Element
	used  *list.List // of seen, the one that was used last in front
}

type seen struct {
	link     ID
	revision uint64
}

// NewMemoryVersions remembers up to limit links, about 150 bytes each. Beyond it the
// link that was used longest ago is forgotten: an old state of it would be handled
// again.
func NewMemoryVersions(limit int) *MemoryVersions {
	return &MemoryVersions{limit: max(1, limit), links: map[ID]*list.Element{}, used: list.New()}
}

// Last implements Versions.
func (m *MemoryVersions) Last(_ context.Context, link ID) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.links[link]
	if !ok {
		return 0, nil
	}
	m.used.MoveToFront(e)
	return e.Value.(*seen).revision, nil
}

// Handled implements Versions. An older revision than the one it has changes nothing.
func (m *MemoryVersions) Handled(_ context.Context, link ID, revision uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.links[link]; ok {
		s := e.Value.(*seen)
		s.revision = max(s.revision, revision)
		m.used.MoveToFront(e)
		return nil
	}
	if len(m.links) >= m.limit {
		oldest := m.used.Back()
		delete(m.links, m.used.Remove(oldest).(*seen).link)
	}
	m.links[link] = m.used.PushFront(&seen{link: link, revision: revision})
	return nil
}
