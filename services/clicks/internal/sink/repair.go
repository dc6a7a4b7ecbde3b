package sink

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/linkstream/linkstream/services/internal/clickhouseconn"
)

// rollup is a table that a view fills from the inserts into clicks. The statement
// reads its receipts: where the last range of a partition of the topic ended, for each
// month (see migrations/clickhouse/00004_clicks_by_link.sql).
type rollup struct {
	table    string
	receipts string
}

func rollups() []rollup {
	const nobody = " WHERE workspace_id = '00000000-0000-0000-0000-000000000000' AND "
	return []rollup{
		{"clicks_by_link", "SELECT toUInt32(toYYYYMM(hour)) AS month, max(range_end) AS until FROM clicks_by_link" + nobody +
			"link_id = '00000000-0000-0000-0000-000000000000' AND host = {partition:String} GROUP BY month"},
		{"clicks_by_value", "SELECT toUInt32(toYYYYMM(hour)) AS month, max(range_end) AS until FROM clicks_by_value" + nobody +
			"dimension = '' AND value = {partition:String} GROUP BY month"},
	}
}

// mayForget says whether the tables' engine can remember a token without its rows.
// A replicated table writes both down in one step in Keeper, and its tokens are to be
// trusted; looking rows up there would be wrong, since the replica that is asked may
// not have them yet.
func (c *ClickHouse) mayForget(ctx context.Context) (bool, error) {
	var engine string
	err := c.conn.QueryRow(ctx, "SELECT engine FROM system.tables WHERE database = currentDatabase() AND name = 'clicks'").Scan(&engine)
	if err != nil {
		return false, fmt.Errorf("asking for the engine of clicks: %w", clickhouseconn.WithoutURL(err))
	}
	return engine == "MergeTree", nil
}

// missing returns those of the rows that are not in clicks, if they were sent in
// one insert before; its length may be 0. The rows of one month are a part, which is
// there whole or not at all, so the last row of each month speaks for the others.
func (c *ClickHouse) missing(ctx context.Context, rows *columns) (*columns, error) {
	if forgetful, err := c.mayForget(ctx); err != nil || !forgetful {
		return &columns{}, err
	}
	absent := map[month]bool{}
	for m, i := range rows.months() {
		var found uint64
		err := c.conn.QueryRow(ctx,
			`SELECT count() FROM clicks WHERE workspace_id = {workspace:UUID} AND link_id = {link:UUID}
			AND ts = fromUnixTimestamp64Milli({ts:Int64}, 'UTC') AND click_id = {click:UUID}`,
			clickhouse.Named("workspace", rows.workspaceID[i].String()),
			clickhouse.Named("link", rows.linkID[i].String()),
			clickhouse.Named("ts", rows.ts[i].UnixMilli()),
			clickhouse.Named("click", rows.clickID[i].String()),
		).Scan(&found)
		if err != nil {
			return nil, fmt.Errorf("looking for rows of an earlier insert: %w", clickhouseconn.WithoutURL(err))
		}
		absent[m] = found == 0
	}
	return rows.of(absent), nil
}

// lacking returns those of the rows that are not in the rollup, after an insert into
// clicks has succeeded. Ranges of a partition are inserted one after the other, so a
// receipt of this range's end, or a later one, is a receipt of this range.
func (c *ClickHouse) lacking(ctx context.Context, r rollup, partition string, to int64, rows *columns) (*columns, error) {
	if forgetful, err := c.mayForget(ctx); err != nil || !forgetful {
		return &columns{}, err
	}
	lacks := map[month]bool{}
	for m := range rows.months() {
		lacks[m] = true
	}
	answer, err := c.conn.Query(ctx, r.receipts, clickhouse.Named("partition", partition))
	if err != nil {
		return nil, fmt.Errorf("reading the receipts of %s: %w", r.table, clickhouseconn.WithoutURL(err))
	}
	defer func() { _ = answer.Close() }() // its errors come from answer.Err
	for answer.Next() {
		var number uint32
		var until int64
		if err := answer.Scan(&number, &until); err != nil {
			return nil, fmt.Errorf("reading the receipts of %s: %w", r.table, err)
		}
		if until >= to {
			delete(lacks, monthNumber(number))
		}
	}
	if err := answer.Err(); err != nil {
		return nil, fmt.Errorf("reading the receipts of %s: %w", r.table, clickhouseconn.WithoutURL(err))
	}
	return rows.of(lacks), nil
}

// repair inserts rows into a rollup alone.
func (c *ClickHouse) repair(ctx context.Context, r rollup, token string, rows *columns) error {
	if err := c.send(ctx, "clicks_repair", token, rows.repairs(r.table)); err != nil {
		return fmt.Errorf("repairing %s: %w", r.table, err)
	}
	return nil
}
