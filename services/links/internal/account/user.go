package account

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// What can go wrong with users.
var (
	// ErrEmailTaken: a member of this workspace has this address already. What other
	// workspaces have is nobody's business.
	ErrEmailTaken = errors.New("the email is taken")
	// ErrLastOwner: a workspace without an owner could not be managed any more.
	ErrLastOwner = errors.New("the last owner cannot be removed")
)

// maxEmail is the limit of RFC 5321.
const maxEmail = 254

// Member is a user of a workspace. The id is the membership's, and stays when its person
// makes one account of several.
type Member struct {
	ID        uuid.UUID
	Email     string
	Role      Role
	CreatedAt time.Time
}

// MemberSpec is what a caller says about a new member.
type MemberSpec struct {
	Email string
	Role  Role
	// Password is made up when it is empty.
	Password string
}

// NewMember is a member to be stored.
type NewMember struct {
	Member
	WorkspaceID  uuid.UUID
	PasswordHash string
}

// memberStore is what users are kept in.
type memberStore interface {
	// PutMember stores a new user with a membership, or returns ErrEmailTaken. One with the
	// same id gets the new password, as nobody has seen the one that it was made with,
	// unless its person has chosen one.
	PutMember(ctx context.Context, m NewMember) (Member, error)
	Members(ctx context.Context, workspace uuid.UUID, after *Position, limit int) ([]Member, error)
	// RemoveMember ends the membership and the user's sessions in its workspace, and
	// forgets a user who is a member of nothing any more. It returns ErrNotFound or
	// ErrLastOwner.
	RemoveMember(ctx context.Context, workspace, id uuid.UUID) error
}

// Members are the users of workspaces.
type Members struct {
	store    memberStore
	accounts *Accounts
}

// NewMembers returns the members of a store.
func NewMembers(store memberStore, accounts *Accounts) *Members {
	return &Members{store: store, accounts: accounts}
}

// Check returns what is wrong with the spec as a WrongError, and puts the email
// into its normal form.
func (s *MemberSpec) Check() error {
	var wrong WrongError
	s.Email = normalEmail(s.Email)
	if address, err := mail.ParseAddress(s.Email); err != nil || address.Address != s.Email || len(s.Email) > maxEmail || strings.ContainsRune(s.Email, 0) {
		wrong.add("email", "invalid", "one plain address is needed, such as someone@example.com")
	}
	if len(s.Role.Scopes()) == 0 {
		wrong.add("role", "invalid", "the roles are owner, editor and viewer")
	}
	if s.Password != "" {
		if err := checkPassword(s.Password); err != nil {
			wrong.add("password", "invalid", err.Error())
		}
	}
	return wrong.err()
}

// Add makes a user who is a member of the workspace, and returns the password, which
// is not shown again. id is the member's id; adding the same id again gives it another
// password. It is an account of its own, whatever others the email has elsewhere: its
// person makes one of them with Accounts.Join.
func (m *Members) Add(ctx context.Context, workspace, id uuid.UUID, spec MemberSpec) (Member, string, error) {
	if err := spec.Check(); err != nil {
		return Member{}, "", err
	}
	if spec.Password == "" {
		password, err := newToken("")
		if err != nil {
			return Member{}, "", err
		}
		spec.Password = password
	}
	users, err := m.accounts.store.Users(ctx, spec.Email)
	if err != nil {
		return Member{}, "", storeError(err)
	}
	hash, err := m.accounts.hashFor(ctx, users, spec.Password)
	if err != nil {
		return Member{}, "", storeError(err)
	}
	made, err := m.store.PutMember(ctx, NewMember{
		Member:      Member{ID: id, Email: spec.Email, Role: spec.Role, CreatedAt: m.accounts.now().UTC().Truncate(time.Microsecond)},
		WorkspaceID: workspace, PasswordHash: hash,
	})
	return made, spec.Password, storeError(err)
}

// List returns at most limit members of the workspace, newest first.
func (m *Members) List(ctx context.Context, workspace uuid.UUID, after *Position, limit int) ([]Member, error) {
	members, err := m.store.Members(ctx, workspace, after, limit)
	return members, storeError(err)
}

// Remove ends a membership at once, with its sessions.
func (m *Members) Remove(ctx context.Context, workspace, id uuid.UUID) error {
	return storeError(m.store.RemoveMember(ctx, workspace, id))
}

func checkName(name string, wrong *WrongError) {
	switch n := utf8.RuneCountInString(name); {
	case strings.TrimSpace(name) == "":
		wrong.add("name", "required", "a name is needed, to tell keys apart")
	case n > maxName:
		wrong.add("name", "too_long", "a name has at most 200 characters")
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		wrong.add("name", "invalid", "the text has characters that cannot be stored")
	}
}

// Bounds of a user's password, in bytes. The upper one keeps a megabyte of text from
// being hashed.
const (
	minPassword = 8
	maxPassword = 1024
)

func checkPassword(given string) error {
	if len(given) < minPassword || len(given) > maxPassword {
		return fmt.Errorf("a password has %d to %d bytes", minPassword, maxPassword)
	}
	return nil
}
