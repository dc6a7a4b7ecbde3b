package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"
)

// few is what the files of these tests may have.
var few = Limits{Bytes: 1_000_000, Rows: 1000}

// read returns the rows of a file, one in a line: number, slug, and the link or the fault.
func read(t *testing.T, o Options, file string) (File, []string) {
	t.Helper()
	var rows []string
	known, err := Split(t.Context(), strings.NewReader(file), o, few, func(_ int, some []Row) error {
		for _, r := range some {
			if r.Fault != nil {
				rows = append(rows, fmt.Sprintf("%d %s !%s %s", r.Number, r.Slug, r.Fault.Reason, r.Fault.Detail))
				continue
			}
			rows = append(rows, fmt.Sprintf("%d %s %s", r.Number, r.Slug, r.Link))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v in %q", err, file)
	}
	return known, rows
}

// Each file is as the tool writes it, apart from what it leads to.
func TestFilesOfOtherTools(t *testing.T) {
	check := func(want Format, o Format, file string, rows ...string) {
		t.Helper()
		known, got := read(t, Options{Format: o}, file)
		if known.Format != want {
			t.Errorf("taken for %s, want %s:\n%s", known.Format, want, file)
		}
		if a, b := strings.Join(got, "\n"), strings.Join(rows, "\n"); a != b {
			t.Errorf("got\n%s\nwant\n%s", a, b)
		}
	}
	check(Bitly, Auto, "Title,Long URL,Bitlink,Tags,Created,Clicks\nSale,https://e.test/a,bit.ly/3xY,\"spring, mail\",2024-05-01,12\n",
		`2 3xY {"destination":"https://e.test/a","notes":"Imported from Bitly, created 2024-05-01, 12 clicks there.","slug":"3xY","tags":["spring"," mail"],"title":"Sale"}`)
	check(Bitly, Bitly, "long_url,link,custom_bitlinks,archived\nhttps://e.test/a,https://bit.ly/3xY,\"[\"\"https://go.e.test/sale\"\"]\",true\n",
		`2 sale {"archived":true,"destination":"https://e.test/a","notes":"Imported from Bitly.","slug":"sale"}`)
	check(YOURLS, Auto, "keyword,url,title,timestamp,ip,clicks\nozh,https://e.test/a,Ozh,2020-01-02 03:04:05,192.0.2.1,7\n",
		`2 ozh {"destination":"https://e.test/a","notes":"Imported from YOURLS, created 2020-01-02 03:04:05, 7 clicks there.","slug":"ozh","title":"Ozh"}`)
	check(YOURLS, YOURLS, "\"ozh\",\"https://e.test/a\",\"Ozh\"\n", // without a line of names
		`1 ozh {"destination":"https://e.test/a","notes":"Imported from YOURLS.","slug":"ozh","title":"Ozh"}`)
	check(Shlink, Auto, "createdAt,domain,shortCode,shortUrl,longUrl,title,tags,visits\n2023-01-01T00:00:00+01:00,s.test,abc,https://s.test/abc,https://e.test/a,,one|two,3\n",
		`2 abc {"destination":"https://e.test/a","notes":"Imported from Shlink, created 2023-01-01T00:00:00+01:00, 3 clicks there.","slug":"abc","tags":["one","two"]}`)
	check(Kutt, Auto, "id,address,description,banned,created_at,domain_id,expire_in,password,target,visit_count\n"+
		"1,abc,A note,false,2023-01-01 00:00:00+00,,2030-01-01 00:00:00+00,,https://e.test/a,9\n2,sec,,false,,,,$2a$12$x,https://e.test/b,0\n",
		`2 abc {"destination":"https://e.test/a","disabled":false,"expires_at":"2030-01-01T00:00:00Z","notes":"A note\nImported from Kutt, created 2023-01-01 00:00:00+00, 9 clicks there.","slug":"abc"}`,
		`3 sec !not_allowed password: passwords are not imported, and without it the link would be open to everybody; create it and set one`)
	check(Dub, Auto, "Short link,Destination URL,Clicks,Created at,Tags,Archived,Expires at,Expired URL\nhttps://dub.sh/x/y,https://e.test/a,4,2024-05-01T00:00:00.000Z,\"a, b\",false,2030-01-01T00:00:00.000Z,https://e.test/over\n",
		`2 x/y {"archived":false,"destination":"https://e.test/a","expires_at":"2030-01-01T00:00:00Z","fallback_url":"https://e.test/over","notes":"Imported from Dub, created 2024-05-01T00:00:00.000Z, 4 clicks there.","slug":"x/y","tags":["a"," b"]}`)
	check(Dub, Auto, "id,domain,key,url,archived,utm_source\nx,d.test,k,https://e.test/a,true,mail\n",
		`2 k {"archived":true,"destination":"https://e.test/a","notes":"Imported from Dub.","slug":"k","utm":{"source":"mail"}}`)
	check(CSV, Auto, "Destination;Slug;Status-Code;MAX CLICKS;starts at;Owner\nhttps://e.test/a;;301;nine;2030-01-01;me\n",
		`2  {"destination":"https://e.test/a","max_clicks":"nine","starts_at":"2030-01-01T00:00:00Z","status_code":301}`)
	check(JSONL, Auto, `{"destination":"https://e.test/a","slug":"b","id":"x","version":3,"has_password":false,"tags":["c"]}`+"\n\n[]\n"+`{"destination":"https://e.test/a","has_password":true}`,
		`1 b {"destination":"https://e.test/a","slug":"b","tags":["c"]}`,
		`3  !invalid the line is no JSON object`,
		`4  !not_allowed password: passwords are not imported, and without it the link would be open to everybody; create it and set one`)
	check(Shlink, Shlink, `{"longUrl":"https://e.test/a","shortCode":"q","tags":["x","y"],"title":null}`,
		`1 q {"destination":"https://e.test/a","notes":"Imported from Shlink.","slug":"q","tags":["x","y"]}`)
}

func TestCharacterSetsAndSeparators(t *testing.T) {
	const want = `2 ü {"destination":"https://e.test/é","slug":"ü"}`
	check := func(charset, file string) {
		t.Helper()
		known, rows := read(t, Options{Format: CSV}, file)
		if known.Charset != charset || len(rows) != 1 || rows[0] != want {
			t.Errorf("%s, want %s: %q", known.Charset, charset, rows)
		}
	}
	const text = "slug,destination\r\nü,https://e.test/é\r\n"
	check("utf-8", text)
	check("utf-8", "\uFEFF"+text)
	check("windows-1252", "slug,destination\n\xFC,https://e.test/\xE9\n")
	for _, e := range []unicode.Endianness{unicode.LittleEndian, unicode.BigEndian} {
		wide, err := unicode.UTF16(e, unicode.UseBOM).NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		check(map[bool]string{true: "utf-16le", false: "utf-16be"}[e == unicode.LittleEndian], wide)
	}
	for _, separator := range []string{";", "\t", "|"} {
		check("utf-8", strings.ReplaceAll(text, ",", separator))
	}
	check("utf-8", "slug,destination\rü,https://e.test/é") // old Mac, no end
	if known, _ := read(t, Options{Format: CSV}, "slug,destination,Owner\na,b,c\n"); strings.Join(known.Ignored, ",") != "Owner" {
		t.Errorf("ignored: %q", known.Ignored)
	}
}

func TestQuotes(t *testing.T) {
	_, rows := read(t, Options{Format: CSV}, "destination,notes,slug\n\"https://e.test/\",\"a \"\"b\"\"\r\nc,\nd\",x\n\nhttps://e.test/,say \"hi\",y\n\"a\",b,c,d\n")
	want := []string{
		`2 x {"destination":"https://e.test/","notes":"a \"b\"\r\nc,\nd","slug":"x"}`,
		`4 y {"destination":"https://e.test/","notes":"say \"hi\"","slug":"y"}`,
		`5  !invalid the row has more cells than the first line has names`,
	}
	if a, b := strings.Join(rows, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	check := func(file string, want error) {
		t.Helper()
		_, err := Split(t.Context(), strings.NewReader(file), Options{Format: Auto}, few, func(int, []Row) error { return nil })
		var wrong FileError
		if want == nil && !errors.As(err, &wrong) || want != nil && !errors.Is(err, want) {
			t.Errorf("%.60q: %v", file, err)
		}
	}
	check("", nil)
	check("destination\n", nil)
	check("slug,title\na,b\n", nil)
	check("PK\x03\x04....", nil)
	check("d\x00e\x00s\x00", nil)
	check("destination\n\"https://e.test/", nil)
	check("destination\n\""+strings.Repeat("x", maxRow+1), nil)
	check("destination\n"+strings.Repeat("x\n", 1001), ErrTooLarge)
	check("destination\n"+strings.Repeat(strings.Repeat("x", 200_000)+"\n", 6), ErrTooLarge)
}

// What is harmless for a spreadsheet comes back as it was.
//
// Guards I85.
func TestFormulasAreHarmlessAndComeBack(t *testing.T) {
	for _, s := range []string{"", "a", "=1+1", "+a", "-a", "@a", "\tx", "\rx", "\nx", "'", "''", "'=x", "''=x", "'a", "＝1", " =1", "'\t"} {
		safe := Harmless(s)
		if strings.IndexAny(safe, formulaBegins) == 0 {
			t.Errorf("%q begins like a formula", safe)
		}
		if got := unharmed(safe); got != s {
			t.Errorf("%q became %q", s, got)
		}
		r := newCSVReader(buffered(string(appendLine(nil, safe, "x"))))
		cells, err := r.next()
		if err != nil || len(cells) != 2 || cells[0] != safe {
			t.Errorf("%q was read as %q: %v", safe, cells, err)
		}
	}
}

func FuzzCSVComesBack(f *testing.F) {
	f.Add("a", "b\r\n\"c\"")
	f.Add("=1", "'=1;,\t")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) > maxRow/3 {
			t.Skip("longer than a row")
		}
		r := newCSVReader(buffered(string(appendLine(nil, "x", "y")) + string(appendLine(nil, Harmless(a), Harmless(b)))))
		if _, err := r.next(); err != nil {
			t.Fatal(err)
		}
		cells, err := r.next()
		if err != nil || len(cells) != 2 || unharmed(cells[0]) != a || unharmed(cells[1]) != b {
			t.Errorf("%q, %q came back as %q: %v", a, b, cells, err)
		}
	})
}

func buffered(s string) *bufio.Reader { return bufio.NewReader(strings.NewReader(s)) }
