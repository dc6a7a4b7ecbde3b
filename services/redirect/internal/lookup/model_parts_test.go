package lookup

import (
	"fmt"
	"testing/synctest"
	"time"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// commit is an acknowledged change of one link: what is at some addresses from now on.
func (r *region) commit(partition int, destinations map[string]string) {
	r.revision++
	l := logged{at: time.Now(), revision: r.revision}
	for _, slug := range slugs {
		to, changed := destinations[slug]
		if !changed {
			continue
		}
		r.truth[slug] = append(r.truth[slug], version{l.at, r.revision, to})
		r.of[slug] = partition
		record := linkcache.Record{Destination: to, Version: 1, Revision: r.revision, Status: 302}
		if to == "" {
			record.Flags = linkcache.FlagDeleted
		}
		l.entries = append(l.entries, linkcache.Entry{Key: linkcache.Key("s.test", slug), Record: record})
	}
	r.log[partition] = append(r.log[partition], l)
}

// edit changes the link at a slug, or makes one, in the other partition than the last.
func (r *region) edit(slug string) {
	partition := r.of[slug]
	if r.now(slug).destination == "" {
		partition = 1 - partition
	}
	r.commit(partition, map[string]string{slug: fmt.Sprint("https://", slug, r.revision+1)})
}

// rename moves a link to the other slug, if that is free.
func (r *region) rename() {
	from, to := "a", "b"
	if r.now(from).destination == "" {
		from, to = to, from
	}
	if r.now(from).destination != "" && r.now(to).destination == "" {
		r.commit(r.of[from], map[string]string{from: "", to: r.now(from).destination})
	}
}

// apply has the updater write the next change of a partition to Redis and publish it.
func (r *region) apply(partition int) {
	next := r.next[partition]
	if r.updaterDown || r.redisDown || next == len(r.log[partition]) {
		return
	}
	l := r.log[partition][next]
	m := message(partition, next, l.revision)
	for _, e := range l.entries {
		r.put(e)
		m.Keys = append(m.Keys, e.Key)
	}
	r.next[partition]++
	r.publish(m)
}

func message(partition, offset int, revision uint64) linkcache.Message {
	return linkcache.Message{
		Version: 1, Revision: revision, Previous: int64(offset) - 1,
		Position: linkcache.Position{Partition: int32(partition), Offset: int64(offset)},
	}
}

func (r *region) publish(m linkcache.Message) {
	if r.edge.connected && (r.drops == nil || !r.drops(m)) {
		r.channel = append(r.channel, publication{time.Now(), m})
	}
}

func (r *region) beat() {
	if r.updaterDown || r.redisDown {
		return
	}
	m := linkcache.Message{Partitions: partitions, Filling: !r.filling.IsZero()}
	for p := range partitions {
		m.Heartbeat = append(m.Heartbeat, linkcache.Position{Partition: int32(p), Offset: int64(r.next[p]) - 1})
	}
	r.publish(m)
}

// refill writes what a Redis lost.
func (r *region) refill() {
	if r.updaterDown || r.redisDown || r.filling.IsZero() {
		return
	}
	for p := range partitions {
		for i, l := range r.log[p][:r.next[p]] {
			m := message(p, i, l.revision)
			for _, e := range l.entries {
				if r.put(e) == linkcache.Applied {
					m.Keys = append(m.Keys, e.Key)
				}
			}
			if len(m.Keys) > 0 {
				r.publish(m)
			}
		}
	}
	r.filling = time.Time{}
}

func (r *region) deliver() {
	if len(r.channel) == 0 {
		return
	}
	m := r.channel[0].message
	r.channel = r.channel[1:]
	payload, err := m.Encode()
	if err != nil {
		panic(err)
	}
	r.edge.feed.handle(payload, time.Now())
	for _, key := range m.Keys {
		_, slug, _ := linkcache.SplitKey(key)
		r.edge.heard[slug] = max(r.edge.heard[slug], m.Revision)
	}
}

func (r *region) cut() {
	if r.edge.connected {
		r.edge.connected, r.edge.cutAt, r.channel = false, time.Now(), nil
		r.edge.feed.disconnected()
	}
}

func (r *region) connect() {
	if !r.edge.connected && !r.redisDown {
		r.edge.connected = true
		r.edge.feed.connected()
	}
}

func (r *region) replicate(atMost time.Duration) {
	for len(r.unreplicated) > 0 && time.Since(r.unreplicated[0].at) >= atMost {
		w := r.unreplicated[0]
		r.unreplicated = r.unreplicated[1:]
		if r.replica[w.key].Revision < w.value.Revision {
			r.replica[w.key] = w.value
		}
	}
}

// tick is what the parts do by themselves.
func (r *region) tick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ticks++
	for p := range partitions {
		for !r.updaterDown && !r.redisDown && r.next[p] < len(r.log[p]) && time.Since(r.log[p][r.next[p]].at) >= applyWithin {
			r.apply(p)
		}
	}
	if time.Since(r.filling) >= fillTakes {
		r.refill()
	}
	if r.ticks%2 == 0 {
		r.beat()
	}
	r.replicate(lagAtMost)
	for len(r.channel) > 0 && time.Since(r.channel[0].at) >= applyWithin {
		r.deliver()
	}
	if r.edge.connected {
		r.edge.feed.checkLease(time.Now())
	} else if time.Since(r.edge.cutAt) >= resubscribeWithin {
		r.connect()
	}
	r.noteTrouble()
}

func (r *region) noteTrouble() {
	if r.originDown || r.holding || len(r.held) > 0 {
		r.troubled = time.Now()
	}
}

// wait lets time pass.
func (r *region) wait(d time.Duration) {
	for range d / tickEvery {
		<-time.After(tickEvery)
		synctest.Wait()
		r.tick()
		synctest.Wait()
	}
}

// pass lets through what is held back.
func (r *region) pass(n int) {
	for ; n > 0 && len(r.held) > 0; n-- {
		close(r.held[0])
		r.held = r.held[1:]
	}
}
