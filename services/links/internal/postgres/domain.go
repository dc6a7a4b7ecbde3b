package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

// domains are those of some hosts that are ours.
type domains map[string]knownDomain

type knownDomain struct {
	link.Domain
	// owner is nil when every workspace may use the domain.
	owner *uuid.UUID
}

func readDomains(ctx context.Context, tx pgx.Tx, hosts []string) (domains, error) {
	// The lock that a link's foreign key takes anyway, but before the case rule is read:
	// until the commit nobody changes the rule or deletes the domain (see lockDomain).
	rows, err := tx.Query(ctx, `SELECT id, host, case_sensitive, workspace_id FROM domains WHERE host = ANY($1) FOR KEY SHARE`, hosts)
	if err != nil {
		return nil, fmt.Errorf("reading domains: %w", err)
	}
	found := domains{}
	var d knownDomain
	_, err = pgx.ForEachRow(rows, []any{&d.ID, &d.Host, &d.CaseSensitive, &d.owner}, func() error {
		found[d.Host] = d
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading domains: %w", err)
	}
	return found, nil
}

// targets returns the domain with the host, if the workspace may use it, and what
// is wrong with the targets of a change: none may lead to one of our own domains.
func (ds domains) targets(workspace uuid.UUID, host string, c *link.Checked) (link.Domain, error) {
	var wrong link.FieldErrors
	found, ok := ds[host]
	if !ok || found.owner != nil && *found.owner != workspace {
		wrong.Add("domain", link.CodeUnknownDomain, "there is no such domain in this workspace")
	}
	ds.refuseOwn(c.Hosts(), &wrong)
	return found.Domain, wrong.Err()
}

// refuseOwn notes which of the targets, by field, lead to one of our own domains.
func (ds domains) refuseOwn(targets map[string]string, wrong *link.FieldErrors) {
	for _, field := range slices.Sorted(maps.Keys(targets)) {
		if _, ours := ds[targets[field]]; ours {
			wrong.Add(field, link.CodeOwnDomain, "the URL leads to a short domain of this service")
		}
	}
}
