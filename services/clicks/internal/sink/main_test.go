package sink

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/services/internal/clickhousetest"
)

func TestMain(m *testing.M) {
	code := clickhousetest.Main(m)
	if err := goleak.Find(
		// Connections of the readiness pings to the test server that were kept for reuse.
		goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"),
	); code == 0 && err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}
