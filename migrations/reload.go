package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
)

// held is a constraint that nothing meets. While a view is away no insert may succeed:
// the view would never see its rows. Ingesters try again.
const held = "held_while_a_view_is_loaded_again"

// reload loads views again whose query was just changed. Until a view is loaded again
// after MODIFY QUERY (seen with ClickHouse 26.7), its inserts' tokens are other ones than
// afterwards, so that an insert which is made again after a restart would not be known
// in the view's table, and count twice there. complete says that all files are applied.
func reload(ctx context.Context, db *sql.DB, cluster string, applied []string, complete bool) error {
	var views []string
	source := "clicks"
	for _, name := range applied {
		text, err := fs.ReadFile(clickhouseFiles, name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if m := alterView.FindStringSubmatch(string(text)); m != nil {
			views = append(views, m[1])
		}
	}
	on := ""
	if cluster != "" {
		source, on = source+localSuffix, onCluster(cluster)
	}
	release := "ALTER TABLE " + source + on + " DROP CONSTRAINT IF EXISTS " + held
	switch {
	case len(views) > 0:
	case !complete: // there may be no table yet
		return nil
	default:
		return run(ctx, db, release) // somebody may have been interrupted
	}
	if err := run(ctx, db, "ALTER TABLE "+source+on+" ADD CONSTRAINT IF NOT EXISTS "+held+" CHECK 0"); err != nil {
		return err
	}
	for _, view := range views {
		// A server that is left in between loads the view when it starts.
		if err := run(ctx, db, "DETACH TABLE "+view+on, "ATTACH TABLE "+view+on); err != nil {
			return errors.Join(err, run(ctx, db, "ATTACH TABLE IF NOT EXISTS "+view+on))
		}
	}
	return run(ctx, db, release)
}

func run(ctx context.Context, db *sql.DB, statements ...string) error {
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
