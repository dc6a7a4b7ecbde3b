package option

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // a zone means the same on every machine

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// Zones are the time zones that programs of this process name. There are some six
// hundred in the world, and they stay. It is safe for concurrent use.
type Zones struct {
	mu    sync.Mutex
	known map[string]uint16
	list  atomic.Pointer[[]*time.Location]
}

// NewZones returns an empty list.
func NewZones() *Zones {
	z := &Zones{known: map[string]uint16{}}
	z.list.Store(&[]*time.Location{})
	return z
}

// number is a zone's place in the list.
func (z *Zones) number(name string) (uint16, bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if n, ok := z.known[name]; ok {
		return n, true
	}
	zone, err := time.LoadLocation(name)
	list := *z.list.Load()
	if err != nil || len(list) > math.MaxUint16 {
		return 0, false
	}
	n := uint16(len(list)) //nolint:gosec // checked above
	longer := append(slices.Clip(list), zone)
	z.list.Store(&longer)
	z.known[name] = n
	return n, true
}

// A time condition is: milliseconds of its begin and its end, its zone, the minutes of a
// day from and to, a bit for each weekday (Monday's is 1), and which of them are set.
const (
	timeStarts  = 0
	timeEnds    = 8
	timeZone    = 16
	timeFrom    = 18
	timeTo      = 20
	timeDays    = 22
	timeHasDay  = 23
	timeAllDays = 0x7f
	minutes     = 24 * 60
)

// appendTime says false for a window that cannot be told: its zone is not known here.
func appendTime(b []byte, t *linkcache.Time, zones *Zones) ([]byte, bool) {
	if t == nil {
		return b, false
	}
	zone, ok := zones.number(t.Zone)
	put := binary.LittleEndian
	b = put.AppendUint64(b, uint64(t.StartsAt)) //nolint:gosec // read back in the same way
	b = put.AppendUint64(b, uint64(t.EndsAt))   //nolint:gosec // as above
	b = put.AppendUint16(b, zone)
	var from, to uint32
	if t.Day != nil {
		from, to = t.Day[0], t.Day[1]
		ok = ok && from < minutes && to <= minutes
	}
	b = put.AppendUint16(b, uint16(from)) //nolint:gosec // checked above
	b = put.AppendUint16(b, uint16(to))   //nolint:gosec // checked above
	days := byte(0)
	for _, day := range t.Weekdays {
		if day >= 1 && day <= 7 {
			days |= 1 << (day - 1)
		}
	}
	if len(t.Weekdays) == 0 {
		days = timeAllDays
	}
	return append(b, days, truth(t.Day != nil)), ok
}

// hasTime says whether the moment of the visit is in the window.
func (p Program) hasTime(v *Visitor) bool {
	now := v.Now.UnixMilli()
	if starts := int64(p.long(timeStarts)); starts != 0 && now < starts { //nolint:gosec // as it was written
		return false
	}
	if ends := int64(p.long(timeEnds)); ends != 0 && now >= ends { //nolint:gosec // as it was written
		return false
	}
	days, hasDay := p[timeDays], p[timeHasDay] == 1
	if days == timeAllDays && !hasDay {
		return true
	}
	zones := *v.senses.zones.list.Load()
	local := v.Now.In(zones[p.short(timeZone)])
	weekday := (int(local.Weekday()) + 6) % 7 // Monday's is 0
	if hasDay {
		from, to, minute := int(p.short(timeFrom)), int(p.short(timeTo)), local.Hour()*60+local.Minute()
		switch {
		case from < to:
			if minute < from || minute >= to {
				return false
			}
		case minute >= from:
		case minute < to: // the window began the day before
			weekday = (weekday + 6) % 7
		default:
			return false
		}
	}
	return days>>weekday&1 == 1
}

func (p Program) short(at int) uint16 { return uint16(p[at]) | uint16(p[at+1])<<8 }
