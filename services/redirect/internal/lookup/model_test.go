package lookup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// actions are what can happen in a region, by the words of a schedule.
func (r *region) actions(ctx context.Context) map[string]func() {
	a := map[string]func(){
		"apply":     func() { r.apply(0) },
		"apply 1":   func() { r.apply(1) },
		"deliver":   r.deliver,
		"beat":      r.beat,
		"refill":    r.refill,
		"cut":       r.cut,
		"connect":   r.connect,
		"replicate": func() { r.replicate(0) },
		"lose": func() {
			if len(r.channel) > 0 {
				r.channel = r.channel[1:]
			}
		},
		"lose changes": func() { r.drops = func(m linkcache.Message) bool { return len(m.Keys) > 0 } },
		"lose beats":   func() { r.drops = func(m linkcache.Message) bool { return m.Heartbeat != nil } },
		"lose nothing": func() { r.drops = nil },
		"twice": func() {
			if len(r.channel) > 0 {
				r.channel = slices.Insert(r.channel, 0, r.channel[0])
			}
		},
		"swap": func() {
			if len(r.channel) > 1 {
				r.channel[0], r.channel[1] = r.channel[1], r.channel[0]
			}
		},
		"hold":          func() { r.holding = true },
		"pass":          func() { r.pass(1) },
		"pass all":      func() { r.holding = false; r.pass(len(r.held)) },
		"read replica":  func() { r.reads = true },
		"read primary":  func() { r.reads = false },
		"redis down":    func() { r.redisDown = true; r.cut() },
		"redis up":      func() { r.redisDown = false },
		"origin down":   func() { r.originDown = true },
		"origin up":     func() { r.originDown = false },
		"updater down":  func() { r.updaterDown = true },
		"updater up":    func() { r.updaterDown = false },
		"updater again": func() { r.next[0], r.next[1] = max(0, r.next[0]-2), max(0, r.next[1]-2) }, // it had not committed the last two
		"edge again":    r.startEdge,
		"failover": func() { // to a replica that lacks the last writes
			r.cut()
			r.primary, r.unreplicated, r.filling = maps.Clone(r.replica), nil, time.Now()
		},
		"wipe": func() {
			r.cut()
			r.primary, r.replica, r.unreplicated, r.filling = map[string]linkcache.Record{}, map[string]linkcache.Record{}, nil, time.Now()
		},
		"rename": r.rename,
	}
	for _, slug := range slugs {
		a["find "+slug] = func() { r.look(ctx, slug, false) }
		a["probe "+slug] = func() { r.look(ctx, slug, true) }
		a["edit "+slug] = func() { r.edit(slug) }
		a["delete "+slug] = func() {
			if r.now(slug).destination != "" {
				r.commit(r.of[slug], map[string]string{slug: ""})
			}
		}
		a["expire "+slug] = func() { // long after it was written, see linkcache.TTL
			if time.Since(r.now(slug).at) > 5*time.Second {
				delete(r.primary, linkcache.Key("s.test", slug))
				delete(r.replica, linkcache.Key("s.test", slug))
			}
		}
	}
	return a
}

// waits are the actions which let time pass, in virtual time.
func waits() map[string]time.Duration {
	return map[string]time.Duration{"wait 250ms": 250 * time.Millisecond, "wait 1s": time.Second, "wait 3s": 3 * time.Second, "wait 12s": 12 * time.Second}
}

// play runs a schedule and says what went wrong, "" if nothing did.
func play(t *testing.T, schedule []string) (wrong string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRegion()
		ctx := context.WithoutCancel(t.Context())
		actions, pauses := r.actions(ctx), waits()
		r.mu.Lock()
		r.connect()
		r.edit("b")
		r.edit("a")
		r.commit(r.of["b"], map[string]string{"b": ""})
		r.mu.Unlock()
		r.wait(time.Second)
		do := func(word string) {
			if d, ok := pauses[word]; ok {
				r.wait(d)
				return
			}
			r.mu.Lock()
			actions[word]()
			r.noteTrouble()
			r.mu.Unlock()
			synctest.Wait()
		}
		for i, word := range schedule {
			if do(word); len(r.found) > 0 {
				wrong = fmt.Sprintf("after step %d, %s: %s", i+1, word, strings.Join(r.found, "; "))
				break
			}
		}
		// The faults are over.
		for _, word := range []string{"pass all", "lose nothing", "redis up", "origin up", "updater up", "connect"} {
			do(word)
		}
		r.wait(freshWithin)
		for range 2 {
			for _, slug := range slugs {
				do("find " + slug)
			}
		}
		r.asked.Wait()
		if wrong == "" && len(r.found) > 0 {
			wrong = "in the end: " + strings.Join(r.found, "; ")
		}
		r.end()
	})
	return wrong
}

// Whatever happens in whatever order, an answer is never below what this process has
// heard or said, never a state that ended more than two seconds ago while the origin can
// be asked, and never a false "no". See region.judge.
//
// Guards I8, I9, I29.
func TestAnyScheduleKeepsThePromises(t *testing.T) {
	r := region{}
	var phrases [][]string
	for _, words := range [][]string{slices.Sorted(maps.Keys(r.actions(t.Context()))), slices.Sorted(maps.Keys(waits()))} {
		for _, word := range words {
			phrases = append(phrases, []string{word})
		}
	}
	// What has to come together for something to go wrong would seldom do so by chance.
	for range 6 {
		phrases = append(phrases,
			[]string{"find a"}, []string{"find a", "find a"}, []string{"wait 1s"}, []string{"wait 3s"},
			[]string{"edit a", "apply"}, []string{"edit a", "apply", "deliver"}, []string{"edit a", "apply", "lose"},
			[]string{"wait 3s", "find a"}, []string{"hold", "find a"}, []string{"pass", "pass"})
	}
	schedules := rapid.SliceOfN(rapid.SampledFrom(phrases), 1, 20)
	for range 8 { // of a hundred schedules each, or as many as -rapid.checks says
		rapid.Check(t, func(rt *rapid.T) {
			schedule := slices.Concat(schedules.Draw(rt, "schedule")...)
			if wrong := play(t, schedule); wrong != "" {
				rt.Fatalf("%s\n%s", strings.Join(schedule, ", "), wrong)
			}
		})
	}
}

// Schedules that broke a promise when they were found, and those that break it when one
// of the checks is taken out.
//
// Guards I29.
func TestSchedulesThatOnceBrokeAPromise(t *testing.T) {
	for name, schedule := range map[string]string{
		"told the old after the new, by a replica, when nobody can confirm":   "failover, find a, edit a, origin down, wait 1s, find a, read replica, find a",
		"a replica lags, and the change was made before the subscription":     "edit a, redis down, wait 3s, redis up, wait 1s, read replica, find a",
		"an origin answer from before a delete, which was heard of meanwhile": "delete a, hold, find a, wait 1s, find a",
		"an origin that was silent once":                                      "hold, find a, delete a, cut, pass, pass, probe a, wait 3s",
		"lost between the subscription and the first heartbeat":               "cut, connect, lose changes, find a, delete a, wait 1s",
		"stored before the subscription":                                      "wipe, find a, delete a, wait 3s",
		"silence, and a Redis that nobody writes":                             "edit a, updater down, wait 3s, find a",
	} {
		if wrong := play(t, strings.Split(schedule, ", ")); wrong != "" {
			t.Errorf("%s: %s\n%s", name, schedule, wrong)
		}
	}
}
