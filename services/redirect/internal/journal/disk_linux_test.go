package journal

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/linkstream/linkstream/services/internal/facttest"
)

// disk is a small file system of its own.
func disk(t *testing.T, size string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may mount a small disk")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("this machine mounts no tmpfs: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A disk without room is an error when a segment is made, never a signal; clicks
// that find no room are counted, and with room everything goes on by itself.
//
// Guards I33.
func TestAFullDiskIsCountedAndOver(t *testing.T) {
	dir := disk(t, "10m")
	hog := filepath.Join(dir, "hog")
	j := open(t, filepath.Join(dir, "journal"), 64<<20/4) // segments of 4 MiB
	rewind(t, j, Checkpoint{})
	if err := os.WriteFile(hog, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	preparing(t, j)
	facttest.Eventually(t, "it says that there is no room", func() bool { return j.Err() != nil })
	var next, refused uint64
	for refused < 100 {
		if j.Append(payload(nil, next, 1, 10_000), 1, now()) {
			next++
		} else {
			refused++
		}
	}
	if s := adds(t, j); s.Disk != refused || s.Waiting != next || next < 300 {
		t.Errorf("%d taken, %d refused: %+v", next, refused, s)
	}
	if err := os.Remove(hog); err != nil {
		t.Fatal(err)
	}
	facttest.Eventually(t, "it goes on", func() bool { return j.Err() == nil && j.Append(payload(nil, next, 1, 10_000), 1, now()) })
	all, damaged := drain(t, j)
	sequence(t, all, 0, next+1)
	if damaged != 0 {
		t.Errorf("%d damaged", damaged)
	}
}

func TestAReadOnlyDiskIsAnError(t *testing.T) {
	dir := disk(t, "64m")
	j := open(t, filepath.Join(dir, "journal"), MinBytes)
	j.Append(payload(nil, 0, 1, 100), 1, now())
	closed(t, j)
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skip("this machine does not remount: ", err)
	}
	if j, err := Open(t.Context(), Settings{Dir: filepath.Join(dir, "journal"), MaxBytes: MinBytes}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("it opens", j.Close())
	}
}
