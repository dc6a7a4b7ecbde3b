package chhttp

import (
	"strings"
	"testing"
)

func TestInsertIsPartedFromItsRows(t *testing.T) {
	check := func(text, head, format, rows string) {
		t.Helper()
		got, ok := splitInsert(text)
		if !ok || strings.TrimSpace(got.head) != head || got.format != format || text[got.data:] != rows {
			t.Errorf("splitInsert(%q) = %+v, %v", text, got, ok)
		}
	}
	check("INSERT INTO t FORMAT Native", "INSERT INTO t", "Native", "")
	check("INSERT INTO t FORMAT TSV\n1\t2\n", "INSERT INTO t", "TSV", "1\t2\n")
	check("INSERT INTO t FORMAT TSV\r\n\n1", "INSERT INTO t", "TSV", "\n1")
	check("insert into t (a, b) settings x=1 format JSONEachRow {}", "insert into t (a, b) settings x=1", "JSONEachRow", "{}")
	check("INSERT INTO TABLE d.t (`a`, \"b\") FORMAT CSV;\n1,2", "INSERT INTO TABLE d.t (`a`, \"b\")", "CSV", "1,2")
	check("-- why\n/* FORMAT x */ INSERT INTO t FORMAT TSV", "-- why\n/* FORMAT x */ INSERT INTO t", "TSV", "")
	check("INSERT INTO format (format) FORMAT TSV", "INSERT INTO format (format)", "TSV", "")
	check("INSERT INTO `a b` (`values`) FORMAT TSV", "INSERT INTO `a b` (`values`)", "TSV", "")
	check("INSERT INTO FUNCTION file('x', 'TSV', 'a Int8') FORMAT TSV\n1", "INSERT INTO FUNCTION file('x', 'TSV', 'a Int8')", "TSV", "1")
}

func TestOtherStatementsStayWhole(t *testing.T) {
	check := func(text string) {
		t.Helper()
		if got, ok := splitInsert(text); ok {
			t.Errorf("splitInsert(%q) = %+v", text, got)
		}
	}
	check("")
	check("SELECT 1 FORMAT TSV")
	check("INSERT INTO t VALUES (1, ' FORMAT TSV')")
	check("INSERT INTO t FORMAT Values (1)")
	check("INSERT INTO t (a) SELECT 1 FORMAT TSV")
	check("INSERT INTO t WITH 1 AS x SELECT x FORMAT TSV")
	check("INSERT INTO t FROM INFILE 'x' FORMAT TSV")
	check("INSERT INTO t (`unfinished FORMAT TSV")
	check("INSERT INTO t /* FORMAT TSV")
	check("INSERT INTO t FORMAT")
}

func TestOutputFormatIsFound(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		if got, _ := outputFormat(text); got != want {
			t.Errorf("outputFormat(%q) = %q, want %q", text, got, want)
		}
	}
	check("SELECT 1", "")
	check("SELECT 1 FORMAT JSON", "JSON")
	check("SELECT 1 FORMAT JSON;", "JSON")
	check("SELECT 1 FORMAT CSV SETTINGS x = 1", "CSV")
	check("SELECT 1 FORMAT CSV -- done", "CSV")
	check("SELECT format FROM t", "")
	check("SELECT 1 AS format", "")
	check("SELECT ' FORMAT CSV'", "")
	check("SELECT 'it''s' FORMAT CSV", "CSV")
	check(`SELECT 'a\'b' FORMAT CSV`, "CSV")
	check("SELECT (SELECT 1 FORMAT CSV)", "")
	check("", "")
}

func FuzzStatement(f *testing.F) {
	f.Add("INSERT INTO t (a) FORMAT TSV\n1")
	f.Add("SELECT 'a\\' FORMAT CSV")
	f.Add("/*")
	f.Fuzz(func(t *testing.T, text string) {
		if found, ok := splitInsert(text); ok && found.data > len(text) {
			t.Fatalf("rows of %q begin at %d", text, found.data)
		}
		outputFormat(text)
	})
}

func TestWhatReads(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT 1":                              true,
		"-- a comment\n select 1":               true,
		"(SELECT 1) UNION ALL (SELECT 2)":       true,
		"WITH 1 AS x SELECT x":                  true,
		"EXPLAIN SELECT 1":                      true,
		"SHOW TABLES":                           true,
		"INSERT INTO t SELECT 1":                false,
		"INSERT INTO t VALUES (1)":              false,
		"ALTER TABLE t DELETE WHERE 1":          false,
		"CREATE TABLE t (n UInt8) ENGINE = Log": false,
		"KILL QUERY WHERE 1":                    false,
		"":                                      false,
	} {
		if got := reads(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
