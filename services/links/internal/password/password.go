// Package password hashes passwords, of users and of links, and checks them.
//
// It promises argon2id with a salt of its own for each hash, in PHC form, a bounded
// number of hashes at a time (each takes megabytes and a core), and that a stored hash
// which asks for more than we would ever have asked for is refused, not computed. It
// refuses to say what a good password is: its callers have their own bounds.
package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Params are the cost of one argon2id hash.
type Params struct {
	Time uint32
	// MemoryKiB is held while the hash is computed.
	MemoryKiB uint32
	Threads   uint8
}

// ForUsers are the second choice of RFC 9106, section 4, for machines that
// do not have 2 GiB for each hash. About 0.1 s on two cores.
func ForUsers() Params { return Params{Time: 3, MemoryKiB: 64 << 10, Threads: 4} }

// ForLinks are the first choice of OWASP's password storage cheat sheet with little
// memory. A link's password is shared by all its visitors and opens one page, and a bulk
// call sets many of them: about 0.03 s on one core.
func ForLinks() Params { return Params{Time: 2, MemoryKiB: 19 << 10, Threads: 1} }

// What a PHC string may ask for when it is checked: a row that was tampered with
// must not make us take all memory.
const (
	maxTime, maxMemoryKiB, maxThreads = 16, 256 << 10, 16
	saltBytes, hashBytes              = 16, 32
)

// Hasher hashes passwords, a few at a time: each takes Params.MemoryKiB. It is safe for
// concurrent use.
type Hasher struct {
	params Params
	slots  chan struct{}
}

// New returns a hasher that computes at most concurrent hashes at the same time; others
// wait.
func New(params Params, concurrent int) *Hasher {
	return &Hasher{params: params, slots: make(chan struct{}, concurrent)}
}

// ErrBadHash says that what is stored is no hash that this package made.
var ErrBadHash = errors.New("the stored password hash is not argon2id in PHC form")

// Hash returns the PHC string of a password with a salt of its own.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltBytes)
	if _, err := rand.Read(salt); err != nil {
		return "", fmt.Errorf("reading random bytes: %w", err)
	}
	return h.HashSalted(ctx, password, salt)
}

// HashSalted is Hash with the caller's salt: two who hash the same password without
// knowing of each other get the same. The salt has 8 bytes at least, and should be one
// that nobody can foresee.
func (h *Hasher) HashSalted(ctx context.Context, password string, salt []byte) (string, error) {
	return h.hash(ctx, password, salt, h.params)
}

// HashLike is Hash with salt and cost of a hash that there is, so that Which checks both
// with one computation. It is for hashes of one person: two of them that are alike show
// the same password.
func (h *Hasher) HashLike(ctx context.Context, password, phc string) (string, error) {
	params, salt, _, err := parsePHC(phc)
	if err != nil {
		return "", err
	}
	return h.hash(ctx, password, salt, params)
}

func (h *Hasher) hash(ctx context.Context, password string, salt []byte, p Params) (string, error) {
	sum, err := h.run(ctx, password, salt, p, hashBytes)
	if err != nil {
		return "", err
	}
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.MemoryKiB, p.Time, p.Threads,
		b64.EncodeToString(salt), b64.EncodeToString(sum)), nil
}

// Matches says whether the password is the one that was hashed.
func (h *Hasher) Matches(ctx context.Context, password, phc string) (bool, error) {
	params, salt, want, err := parsePHC(phc)
	if err != nil {
		return false, err
	}
	got, err := h.run(ctx, password, salt, params, uint32(len(want))) //nolint:gosec // at most 64, see parsePHC
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

// maxSalts bounds the computations of one call of Which. Hashes that HashLike made share
// one; others are left by a race or by a change of the cost.
const maxSalts = 4

// Which says of each hash whether the password is the one that was hashed. Hashes with one
// salt and cost take one computation together. A string that is no hash of ours is that of
// no password, unless all are: that is ErrBadHash.
func (h *Hasher) Which(ctx context.Context, password string, phcs []string) ([]bool, error) {
	type group struct {
		params Params
		salt   string
		length int
	}
	sums, out, readable := map[group][]byte{}, make([]bool, len(phcs)), false
	for i, phc := range phcs {
		params, salt, want, err := parsePHC(phc)
		if err != nil {
			continue
		}
		readable = true
		g := group{params: params, salt: string(salt), length: len(want)}
		got, done := sums[g]
		if !done {
			if len(sums) == maxSalts {
				continue
			}
			if got, err = h.run(ctx, password, salt, params, uint32(len(want))); err != nil { //nolint:gosec // at most 64, see parsePHC
				return nil, err
			}
			sums[g] = got
		}
		out[i] = subtle.ConstantTimeCompare(got, want) == 1
	}
	if !readable {
		return nil, ErrBadHash
	}
	return out, nil
}

// run waits for a free slot as long as the caller does.
func (h *Hasher) run(ctx context.Context, password string, salt []byte, p Params, length uint32) ([]byte, error) {
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting to check a password: %w", ctx.Err())
	}
	defer func() { <-h.slots }()
	return argon2.IDKey([]byte(password), salt, p.Time, p.MemoryKiB, p.Threads, length), nil
}

func parsePHC(phc string) (p Params, salt, sum []byte, err error) {
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return p, nil, nil, ErrBadHash
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.MemoryKiB, &p.Time, &p.Threads); err != nil || n != 3 {
		return p, nil, nil, ErrBadHash
	}
	if p.Time < 1 || p.Time > maxTime || p.MemoryKiB > maxMemoryKiB || p.Threads < 1 || p.Threads > maxThreads {
		return p, nil, nil, ErrBadHash
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	sum, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || len(salt) < 8 || len(sum) < 16 || len(sum) > 64 {
		return p, nil, nil, ErrBadHash
	}
	return p, salt, sum, nil
}
