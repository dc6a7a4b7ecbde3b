package link

import (
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/linkoption"
)

// MaxTemplates is how many campaign templates a workspace has: more is no list to choose
// from.
const MaxTemplates = 200

const maxTemplateName = 100

// What can go wrong with templates, beside ErrNotFound and FieldErrors.
var (
	// ErrTemplateNameTaken: the workspace has a template of this name.
	ErrTemplateNameTaken = errors.New("the workspace has a template of this name")
	// ErrTooManyTemplates: the workspace has MaxTemplates.
	ErrTooManyTemplates = errors.New("the workspace has as many templates as it may have")
)

// Template are campaign parameters under a name, which a workspace fills links with. A
// link that was filled with one does not follow its changes.
type Template struct {
	ID                   uuid.UUID
	Name                 string
	UTM                  linkoption.UTM
	CreatedAt, UpdatedAt time.Time
}

// TemplateChange is what a request says about a template.
type TemplateChange struct {
	Name Optional[string]
	UTM  UTMChange
}

// NewTemplate is a template to be stored.
type NewTemplate struct {
	Template
	WorkspaceID uuid.UUID
}

// TemplatePosition is a place in the list of templates, which is ordered by creation,
// newest first, and then by id.
type TemplatePosition struct {
	CreatedAt time.Time
	ID        uuid.UUID
}

// On is the template after the change, or FieldErrors. A template has a name and one
// parameter at least.
func (c *TemplateChange) On(t Template) (Template, error) {
	var wrong FieldErrors
	if c.Name.Set {
		t.Name = strings.TrimSpace(c.Name.Value)
	}
	if t.Name == "" {
		wrong.Add("name", CodeRequired, "a name is needed, to tell templates apart")
	} else {
		wrong.addErr("name", checkText(t.Name, maxTemplateName))
	}
	t.UTM = c.UTM.On(t.UTM)
	if t.UTM == (linkoption.UTM{}) {
		wrong.Add("utm", CodeRequired, "a template has one parameter at least")
	}
	wrong.addOptions(linkoption.CheckUTM(t.UTM))
	return t, wrong.Err()
}
