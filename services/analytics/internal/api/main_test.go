package api

import (
	"os"
	"testing"

	"github.com/linkstream/linkstream/services/internal/clickhousetest"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }
