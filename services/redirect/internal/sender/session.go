package sender

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/services/redirect/internal/journal"
)

const (
	// openTimeout is how long a new session may take, transactionPatience a
	// transaction. Then another session is tried.
	openTimeout         = 15 * time.Second
	transactionPatience = 20 * time.Second
	// ownerSuffix makes the group in which a process says that the name is its.
	ownerSuffix = "-owner"
)

// session is a link from its opening to its first error.
type session struct {
	link
	s         *Sender
	leader    []int32 // of each partition
	sequence  []int32
	partition int // of the next transaction
	produced  uint64
}

// open makes a session and finds out where to go on.
func (s *Sender) open(ctx context.Context) (_ *session, err error) {
	client, err := kgo.NewClient(append(append([]kgo.Opt{}, s.options...), kgo.MaxVersions(versions()))...)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	defer func() {
		if err != nil {
			client.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	n := &session{s: s, link: link{client: client, topic: s.topic, txid: s.name}}
	if err := s.claim(ctx, &n.link); err != nil {
		return nil, err
	}
	if err := n.takeName(ctx); err != nil {
		return nil, err
	}
	if n.leader, err = n.leaders(ctx); err != nil {
		return nil, err
	}
	n.sequence = make([]int32, len(n.leader))
	n.partition = rand.IntN(len(n.leader))
	if err := n.abort(ctx); err != nil {
		return nil, err
	}
	return n, n.resume(ctx)
}

// claim says that the name is this process's, the first time. Later it is asked
// whether that still holds. A process claims the name before it takes the
// transactional id, so one that was fenced finds the claim of who did it.
func (s *Sender) claim(ctx context.Context, l *link) error {
	group := s.name + ownerSuffix
	if s.claimed {
		_, owner, err := l.read(ctx, group)
		if err != nil {
			return err
		}
		if owner == s.process {
			return nil
		}
		if owner != "" { // offsets that nobody touches are deleted after a week
			return ErrFenced
		}
	}
	if err := l.write(ctx, group, time.Now().Unix(), s.process); err != nil {
		return err
	}
	s.claimed = true
	return nil
}

// abort ends whatever is left of an earlier session, in any partition and in the
// group. The broker has done that when the name was taken, except one that was
// killed: it may have forgotten who had a transaction open, or not have told the
// partitions, and would count the clicks of that one to the next.
func (n *session) abort(ctx context.Context) error {
	all := make([]int32, len(n.leader))
	for i := range all {
		all[i] = int32(i)
	}
	if err := n.add(ctx, all...); err != nil {
		return err
	}
	if err := n.addGroup(ctx); err != nil {
		return err
	}
	if err := n.end(ctx, false); err != nil {
		return err
	}
	return n.closed(ctx, all...)
}

// resume makes the journal go on at the checkpoint.
func (n *session) resume(ctx context.Context) error {
	offset, metadata, err := n.read(ctx, n.txid)
	if err != nil {
		return err
	}
	j := n.s.journal
	known := j.Local()
	point, ok := parseCheckpoint(offset, metadata)
	reached := uint64(0) // by this journal, as the checkpoint has it
	if ok && point.Journal == known.Journal {
		reached = point.Next
	}
	// A checkpoint behind the noted transaction is that of a later one. One at its end
	// says that the broker had decided to commit it, and not that it told the partition.
	if noted, ok := j.Unknown(); ok && noted.To > known.Next && noted.To >= reached {
		became, err := n.became(ctx, noted)
		switch {
		case err != nil:
			return err
		case became == readable:
			point = journal.Checkpoint{Journal: known.Journal, Next: noted.To, Produced: noted.Produced}
		case became == aborted && noted.To == reached:
			point = known
		}
	}
	lost, err := j.Rewind(point)
	if err != nil {
		return err
	}
	if lost > 0 {
		n.s.log.Error("clicks were given up before the broker had them", "count", lost)
	}
	n.produced = j.Local().Produced
	return nil
}

// fate is what became of a transaction that was noted.
type fate int

const (
	aborted  fate = iota // or never stored
	readable             // its first record is where the broker said it stored it
	gone                 // the topic does not reach so far back: only the checkpoint knows
)

// became looks a noted transaction up in the topic. Nothing of it is open any more.
func (n *session) became(ctx context.Context, c journal.Commit) (fate, error) {
	reader, err := kgo.NewClient(append(append([]kgo.Opt{}, n.s.options...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{n.topic: {c.Partition: kgo.NewOffset().At(c.Offset)}}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // of an aborted transaction there is one at least
	)...)
	if err != nil {
		return aborted, fmt.Errorf("making a client: %w", err)
	}
	defer reader.Close()
	for {
		fetches := reader.PollRecords(ctx, 1)
		if err := ctx.Err(); err != nil {
			return aborted, fmt.Errorf("looking for a transaction in the topic: %w", err)
		}
		for _, r := range fetches.Records() {
			if r.Offset == c.Offset && !r.Attrs.IsControl() && fingerprint(r.Value) == c.FirstID {
				return readable, nil
			}
			return aborted, nil
		}
		for _, e := range fetches.Errors() {
			if outOfRange(e.Err) {
				return gone, nil
			}
			return aborted, fmt.Errorf("looking for a transaction in the topic: %w", e.Err)
		}
	}
}

// fingerprint tells one click from another: each has an id of its own.
func fingerprint(click []byte) (id [16]byte) {
	sum := sha256.Sum256(click)
	copy(id[:], sum[:])
	return id
}

// send makes one transaction of what waits. It returns how many bytes it sent, none
// when nothing waits.
func (n *session) send(ctx context.Context) (sent int, err error) {
	ctx, cancel := context.WithTimeout(ctx, transactionPatience)
	defer cancel()
	chunk, ok := n.take()
	if !ok {
		return 0, nil
	}
	note := journal.Commit{From: chunk.From, To: chunk.To, Produced: n.produced, Partition: int32(n.partition)}
	var damaged uint64
	var flying chan stored
	out := &n.s.out
	for i := 0; ok; i = 1 - i {
		note.To = chunk.To
		damaged += chunk.Lost()
		if chunk.Clicks > 0 {
			if sent == 0 {
				if err := n.add(ctx, note.Partition); err != nil {
					return 0, err
				}
				first, _, _ := journal.NextClick(chunk.Payload)
				note.FirstID, note.Offset = fingerprint(first), -1
			}
			count, err := n.s.encoder.encode(&out[i], chunk.Payload, n.producer, n.sequence[n.partition], time.Now().UnixMilli())
			if err != nil {
				return 0, errors.Join(err, land(flying, &note))
			}
			n.sequence[n.partition] = int32((int64(n.sequence[n.partition]) + int64(count)) & math.MaxInt32)
			note.Produced += uint64(count)
			sent += len(chunk.Payload)
			if err := land(flying, &note); err != nil {
				return 0, err
			}
			flying = n.launch(ctx, &out[i])
			n.rest(ctx)
		}
		if sent >= maxTransaction {
			break
		}
		chunk, ok = n.take()
	}
	if err := land(flying, &note); err != nil {
		return 0, err
	}
	if sent > 0 {
		if err := n.commit(ctx, note); err != nil {
			return 0, err
		}
	}
	n.produced = note.Produced
	n.s.journal.Settle(note.To, note.Produced, damaged)
	if damaged > 0 {
		n.s.log.Error("the journal gave back damaged clicks: they are lost", "count", damaged)
	}
	n.partition = (n.partition + 1) % len(n.leader)
	return sent, nil
}

// rest leaves the processor to visitors between two batches. Made one right after the
// other, the batches of a transaction take all of what the event loop leaves, and more,
// for some milliseconds, for which visitors queue. Who has much to catch up, or is to stop,
// does not rest.
func (n *session) rest(ctx context.Context) {
	if n.s.hurry.Load() || n.s.journal.Stats().Bytes > restless {
		return
	}
	pause := time.NewTimer(restFor)
	defer pause.Stop()
	select {
	case <-ctx.Done():
	case <-pause.C:
	}
}

func (n *session) take() (journal.Chunk, bool) {
	chunk, ok := n.s.journal.Take(n.s.room, maxBatch)
	if ok {
		n.s.room = chunk.Payload[:0]
	}
	return chunk, ok
}

func (n *session) commit(ctx context.Context, note journal.Commit) error {
	point := journal.Checkpoint{Journal: n.s.journal.Local().Journal, Next: note.To, Produced: note.Produced}
	if err := n.checkpoint(ctx, int64(note.To), formatCheckpoint(point)); err != nil {
		return err
	}
	n.s.journal.Committing(note)
	if err := n.end(ctx, true); err != nil {
		return err
	}
	return n.closed(ctx, note.Partition)
}

// stored is the answer to a batch.
type stored struct {
	offset int64
	err    error
}

// launch sends a batch while the next one is made. Whoever launches waits with land.
func (n *session) launch(ctx context.Context, batch *bytes.Buffer) chan stored {
	answer := make(chan stored, 1)
	partition := int32(n.partition)
	leader := n.leader[n.partition]
	go func() {
		offset, err := n.produce(ctx, leader, partition, batch.Bytes())
		answer <- stored{offset, err}
	}()
	return answer
}

// land waits for the batch that is on its way, if one is.
func land(flying chan stored, note *journal.Commit) error {
	if flying == nil {
		return nil
	}
	answer := <-flying
	if answer.err == nil && note.Offset < 0 {
		note.Offset = answer.offset
	}
	return answer.err
}

// The checkpoint's offset is the number of the next click; its metadata is the
// journal's id and how many clicks were produced.
func formatCheckpoint(c journal.Checkpoint) string {
	return hex.EncodeToString(c.Journal[:]) + " " + strconv.FormatUint(c.Produced, 10)
}

func parseCheckpoint(offset int64, metadata string) (c journal.Checkpoint, ok bool) {
	id, produced, found := strings.Cut(metadata, " ")
	raw, err := hex.DecodeString(id)
	if offset < 0 || !found || err != nil || len(raw) != len(c.Journal) {
		return journal.Checkpoint{}, false
	}
	n, err := strconv.ParseUint(produced, 10, 64)
	if err != nil {
		return journal.Checkpoint{}, false
	}
	copy(c.Journal[:], raw)
	c.Next, c.Produced = uint64(offset), n
	return c, true
}
