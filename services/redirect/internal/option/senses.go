package option

import (
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/linkstream/linkstream/services/internal/agent"
	placefile "github.com/linkstream/linkstream/services/internal/place"
)

// cachedAgents bounds each of the two halves of what a Senses remembers. At 700 bytes an
// agent they take about 3 MB.
const cachedAgents = 2048

// EyesBytes is what Eyes take of the heap at most, beside the files of places: the lists
// of agents, and what is remembered. A guess of the latter from its bounds.
const EyesBytes = 24 << 20

// place is where a visitor is, in lower case.
type place struct{ country, region, continent string }

// kind is what a visitor's agent says, in lower case but for the bot.
type kind struct{ device, os, browser, bot string }

// Eyes look up agents and places for all workers of a process.
type Eyes struct {
	zones   *Zones
	agents  *agent.Reader
	files   *placefile.Files
	senses  []*Senses
	handing atomic.Uint32
}

// NewEyes returns them over the files of places and the zones that programs are compiled
// with. It takes some milliseconds and 4 MB, for the lists of agents.
func NewEyes(files *placefile.Files, zones *Zones) *Eyes {
	e := &Eyes{zones: zones, agents: agent.NewReader(), files: files}
	for range runtime.GOMAXPROCS(0) {
		e.senses = append(e.senses, &Senses{
			zones: zones, agents: e.agents, recent: map[string]kind{},
			finder: placefile.NewFinder(files), places: map[placefile.Place]place{},
		})
	}
	return e
}

// Senses returns one for a worker. There are as many as processors, so that workers seldom
// wait for each other and what is remembered is bounded.
func (e *Eyes) Senses() *Senses { return e.senses[int(e.handing.Add(1))%len(e.senses)] }

// Senses look things up and remember them. They are safe for concurrent use.
type Senses struct {
	zones  *Zones
	agents *agent.Reader

	mu          sync.Mutex
	recent, old map[string]kind // by agent
	finder      placefile.Finder
	places      map[placefile.Place]place // in lower case
}

// kind is what an agent says. What is remembered is found without allocating.
func (s *Senses) kind(header []byte) kind {
	if len(header) == 0 {
		return kind{}
	}
	header = header[:min(len(header), agent.MaxBytes)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.recent[string(header)]; ok {
		return k
	}
	k, ok := s.old[string(header)]
	if !ok {
		read := s.agents.Read(header)
		k = kind{read.Device, strings.ToLower(read.OS), strings.ToLower(read.Browser), read.Bot}
	}
	if len(s.recent) >= cachedAgents {
		s.old, s.recent = s.recent, make(map[string]kind, cachedAgents)
	}
	s.recent[string(header)] = k
	return k
}

// maxPlaces bounds the places in lower case; a file with cities has more.
const maxPlaces = 32_768

func (s *Senses) place(addr netip.Addr) place {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.finder.Find(addr)
	found.City = ""
	if found == (placefile.Place{}) {
		return place{}
	}
	p, ok := s.places[found]
	if !ok {
		if len(s.places) >= maxPlaces {
			clear(s.places)
		}
		p = place{strings.ToLower(found.Country), strings.ToLower(found.Region), strings.ToLower(found.Continent)}
		s.places[found] = p
	}
	return p
}
