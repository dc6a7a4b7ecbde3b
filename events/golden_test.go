package events_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// update writes the .binpb beside a new .json; an existing one is never touched.
var update = flag.Bool("update", false, "write the wire form of examples that have none yet")

// golden calls check for every example of one message, with its wire form and
// with what the wire form must mean.
func golden(t *testing.T, message string, newMessage func() proto.Message, check func(t *testing.T, wire []byte, want proto.Message)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "schemas", "examples", message, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples of %s: %v", message, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".json")
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := newMessage()
			if err := protojson.Unmarshal(text, want); err != nil {
				t.Fatal(err)
			}
			wire, err := os.ReadFile(name + ".binpb")
			if os.IsNotExist(err) && *update {
				if wire, err = (proto.MarshalOptions{Deterministic: true}).Marshal(want); err == nil {
					err = os.WriteFile(name+".binpb", wire, 0o644)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			check(t, wire, want)
		})
	}
}
