package events_test

import (
	"os"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/events"
)

func TestReadmeListsEveryTopic(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range events.Topics() {
		if !strings.Contains(string(text), "| `"+string(topic)+"` |") {
			t.Errorf("README.md has no row for %s", topic)
		}
	}
}
