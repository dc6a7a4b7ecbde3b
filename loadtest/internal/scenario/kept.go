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
	// SettleSeconds are 0 until all days were settled.
	SettleSeconds float64 `json:"settle_seconds"`
}

// keptFile is in the folder.
const keptFile = "clicks.json"

func readKept(folder string) (kept, error) {
	var k kept
	text, err := os.ReadFile(filepath.Join(folder, keptFile))
	if err != nil {
		return k, fmt.Errorf("reading what was made: %w", err)
	}
	if err := json.Unmarshal(text, &k); err != nil {
		return k, fmt.Errorf("reading what was made: %w", err)
	}
	return k, nil
}

func (k kept) write(folder string) error {
	text, err := json.MarshalIndent(k, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, keptFile), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("noting what was made: %w", err)
	}
	return nil
}

// made fills the database, unless that was done before.
func (s Analytics) made(ctx context.Context, folder string, db madeup.Database, result *report.Analytics, progress io.Writer) error {
	before, err := readKept(folder)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := s.fill(ctx, db, result, progress); err != nil {
			return err
		}
		before = kept{Clicks: s.Clicks, Made: db.Now, FillSeconds: result.FillSeconds, MergeSeconds: result.MergeSeconds}
		if err := before.write(folder); err != nil {
			return err
		}
	case err != nil:
		return err
	case before.Clicks != s.Clicks:
		return fmt.Errorf("%s has %d clicks, and %d are asked for", folder, before.Clicks, s.Clicks)
	default:
		fmt.Fprintf(progress, "taking %d clicks that were made on %s\n", before.Clicks, before.Made.Format(time.DateTime))
	}
	result.FillSeconds, result.MergeSeconds, result.Made = before.FillSeconds, before.MergeSeconds, before.Made
	return nil
}

// unsettled counts the days that are over and not settled in a workspace.
const unsettled = `SELECT count() FROM (
    SELECT workspace_id, toDate(hour) AS day, sum(clicks) AS n FROM clicks_by_link
    WHERE link_id = '00000000-0000-0000-0000-000000000000' AND workspace_id != '00000000-0000-0000-0000-000000000000' AND day < toDate(now('UTC') - INTERVAL 1 HOUR)
    GROUP BY workspace_id, day
) AS counted LEFT ANTI JOIN (SELECT workspace_id, day, clicks AS n FROM clicks_settled_days) AS settled USING (workspace_id, day, n)`

// settled waits until the analytics service has written down all days that are over,
// and asks for the sizes.
func (s Analytics) settled(ctx context.Context, folder string, db madeup.Database, result *report.Analytics, progress io.Writer) error {
	began := time.Now()
	tick := time.NewTicker(5 * time.Second) // the question takes some time of those who settle
	defer tick.Stop()
	told := began
	for {
		left, err := db.Query(ctx, unsettled, nil)
		if err != nil {
			return err
		}
		if left == "0" {
			break
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Fprintf(progress, "  %s days of workspaces are not settled yet\n", left)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	before, err := readKept(folder)
	if err != nil {
		return err
	}
	if before.SettleSeconds == 0 {
		before.SettleSeconds = time.Since(began).Seconds()
		if err := settle(ctx, db); err != nil {
			return err
		}
		if err := before.write(folder); err != nil {
			return err
		}
	}
	result.SettleSeconds = before.SettleSeconds
	fmt.Fprintf(progress, "days settled in %.0f s\n", result.SettleSeconds)
	return s.sizes(ctx, db, result)
}
