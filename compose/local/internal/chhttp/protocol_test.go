package chhttp_test

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

type answer struct {
	status int
	body   string
	header http.Header
}

func send(t *testing.T, method, address, body string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	request.Host = request.Header.Get("Host") // "" is the address's own
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return answer{response.StatusCode, string(text), response.Header}
}

func TestPlainHTTPAnswersAsTheServerDoes(t *testing.T) {
	addr, database := start(t)
	base := "http://" + addr + "/"
	in := base + "?database=" + database
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	check := func(got answer, status int, body string) {
		t.Helper()
		if got.status != status || !strings.Contains(got.body, body) || status == 200 && got.body != body {
			t.Errorf("got %d %q, want %d %q", got.status, got.body, status, body)
		}
	}
	query := func(sql string) string { return "&query=" + url.QueryEscape(sql) }

	check(send(t, "GET", base+"ping", ""), 200, "Ok.\n")
	check(send(t, "GET", base, ""), 200, "Ok.\n")
	check(send(t, "GET", base+"?query=SELECT+1", ""), 200, "1\n")
	check(send(t, "POST", base, "SELECT 1, 'a\tb'"), 200, "1\ta\\tb\n")
	check(send(t, "POST", base+"?query=SELECT+1,", "2"), 200, "1\t2\n")
	check(send(t, "GET", base+"?default_format=CSV&query=SELECT+1,2", ""), 200, "1,2\n")
	check(send(t, "GET", base+"?default_format=CSV&query=SELECT+1+FORMAT+JSONEachRow", ""), 200, "{\"1\":1}\n")
	check(send(t, "GET", base+"?param_x=a%5Ctb&query="+url.QueryEscape("SELECT {x:String}"), ""), 200, "a\\tb\n")

	check(send(t, "POST", in, "CREATE TABLE t (n UInt8, s String) ENGINE = Memory"), 200, "")
	check(send(t, "POST", in, "INSERT INTO t VALUES (1, 'a\nb;c'), (2, 'd');"), 200, "")
	check(send(t, "POST", in+query("INSERT INTO t FORMAT CSV"), "3,\"x\ny\"\n4,z\n"), 200, "")
	check(send(t, "POST", in, "INSERT INTO t FORMAT JSONEachRow {\"n\":5,\"s\":\"p\"}\n{\"n\":6,\"s\":\"q\"}\n"), 200, "")
	check(send(t, "POST", in+query("INSERT INTO t VALUES"), "(7, 'v')"), 200, "")
	check(send(t, "POST", in+"&param_n=8"+query("INSERT INTO t VALUES ({n:UInt8}, 'p')"), ""), 200, "")
	check(send(t, "POST", in+query("INSERT INTO t FORMAT CSV"), ""), 200, "")
	check(send(t, "GET", in+query("SELECT count(), sum(n), groupArray(s) FROM (SELECT * FROM t ORDER BY n)"), ""), 200,
		"8\t36\t['a\\nb;c','d','x\\ny','z','p','q','v','p']\n")

	refused := send(t, "GET", in+query("INSERT INTO t VALUES (9, '')"), "")
	check(refused, 500, "readonly")
	if code := refused.header.Get("X-ClickHouse-Exception-Code"); code != "164" {
		t.Errorf("code %q", code)
	}
	check(send(t, "POST", in+query("INSERT INTO t FORMAT CSV"), "notanumber,x\n"), 400, "Code: 27")
	check(send(t, "POST", in, "SELECT * FROM nowhere"), 404, "UNKNOWN_TABLE")
	check(send(t, "POST", in, "SELEC"), 400, "SYNTAX_ERROR")
	check(send(t, "POST", in, " "), 400, "Empty query")
	check(send(t, "POST", in+"&bad%20name=1", "SELECT 1"), 404, "Unknown setting 'bad name'")
	check(send(t, "POST", in+"&session_id=1", "SELECT 1"), 501, "Sessions")
	check(send(t, "POST", in, "x", "Content-Type", "multipart/form-data; boundary=x"), 501, "External tables")
	check(send(t, "POST", in, "x", "Content-Encoding", "br"), 501, "Content-Encoding")
	check(send(t, "POST", in, "DROP TABLE t", "Origin", "https://example.com"), 403, "web pages")
	check(send(t, "GET", in+query("SELECT 1"), "", "Host", "rebound.example.com"), 403, "web pages")
	check(send(t, "PUT", in, "SELECT 1"), 405, "GET or POST")
	check(send(t, "GET", base+"nope", ""), 404, "no handle")
	check(send(t, "GET", in+query("SELECT count() FROM t"), ""), 200, "8\n")
}

func TestUnsupportedNativeColumnIsAnError(t *testing.T) {
	addr, _ := start(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	got := send(t, "POST", "http://"+addr+"/?default_format=Native&client_protocol_version=54460", "SELECT uniqState(1)")
	if got.status != http.StatusNotImplemented || !strings.Contains(got.body, "Native") {
		t.Errorf("got %d %q", got.status, got.body)
	}
}

func TestInsertThatWasCutOffIsNotCommitted(t *testing.T) {
	addr, database := start(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	in := "http://" + addr + "/?database=" + database
	send(t, "POST", in, "CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n")
	for _, head := range []string{"Content-Length: 1000\r\n\r\n1\n2\n", "Transfer-Encoding: chunked\r\n\r\n4\r\n1\n2\n\r\n"} {
		var dialer net.Dialer
		conn, err := dialer.DialContext(t.Context(), "tcp", addr)
		must(t, err)
		_, err = io.WriteString(conn, "POST /?database="+database+"&query=INSERT+INTO+t+FORMAT+TSV HTTP/1.1\r\nHost: x\r\n"+head)
		must(t, err)
		must(t, conn.(*net.TCPConn).CloseWrite())
		answer, err := io.ReadAll(conn)
		must(t, err)
		must(t, conn.Close())
		if strings.Contains(string(answer), " 200 ") {
			t.Errorf("answered %q", answer)
		}
	}
	if got := send(t, "POST", in, "SELECT count() FROM t"); got.body != "0\n" {
		t.Errorf("got %q rows", got.body)
	}
}
