package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/madeup"
	"github.com/linkstream/linkstream/loadtest/internal/report"
)

// kept is what is written beside clicks that are kept: how they were made.
type kept struct {
	Clicks       int       `json:"clicks"`
	Made         time.Time `json:"made"`
	FillSeconds  float64   `json:"fill_seconds"`
	MergeSeconds float64   `json:"merge_seconds"`
}

// made fills the database, unless that was done before, and asks for its sizes.
func (s Analytics) made(ctx context.Context, folder string, db madeup.Database, result *report.Analytics, progress io.Writer) error {
	file := filepath.Join(folder, "clicks.json")
	var before kept
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := s.fill(ctx, db, result, progress); err != nil {
			return err
		}
		before = kept{Clicks: s.Clicks, Made: db.Now, FillSeconds: result.FillSeconds, MergeSeconds: result.MergeSeconds}
		if text, err = json.MarshalIndent(before, "", "  "); err != nil {
			return fmt.Errorf("noting what was made: %w", err)
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			return fmt.Errorf("noting what was made: %w", err)
		}
	case err != nil:
		return fmt.Errorf("reading what was made: %w", err)
	default:
		if err := json.Unmarshal(text, &before); err != nil {
			return fmt.Errorf("reading what was made: %w", err)
		}
		if before.Clicks != s.Clicks {
			return fmt.Errorf("%s has %d clicks, and %d are asked for", folder, before.Clicks, s.Clicks)
		}
		fmt.Fprintf(progress, "taking %d clicks that were made on %s\n", before.Clicks, before.Made.Format(time.DateTime))
	}
	result.FillSeconds, result.MergeSeconds, result.Made = before.FillSeconds, before.MergeSeconds, before.Made
	return s.sizes(ctx, db, result)
}
