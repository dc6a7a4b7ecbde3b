package ports

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const stateListen = "0A" // in /proc/net/tcp

// holder finds the process that listens on the port, as far as this user may see.
func holder(port int) string {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		collectInodes(table, port, inodes)
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is well formed
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil {
			continue // closed meanwhile, or another user's
		}
		inode, ok := strings.CutPrefix(target, "socket:[")
		if !ok || !inodes[strings.TrimSuffix(inode, "]")] {
			continue
		}
		pid := strings.Split(link, "/")[2]
		name, err := os.ReadFile("/proc/" + pid + "/comm")
		if err != nil {
			return ""
		}
		return fmt.Sprintf("%s (process %s)", strings.TrimSpace(string(name)), pid)
	}
	return ""
}

func collectInodes(table string, port int, into map[string]bool) {
	file, err := os.Open(table)
	if err != nil {
		return // without IPv6 there is no tcp6 table
	}
	defer func() { _ = file.Close() }()
	want := fmt.Sprintf(":%04X", port)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		// "sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode"
		fields := strings.Fields(lines.Text())
		if len(fields) > 9 && strings.HasSuffix(fields[1], want) && fields[3] == stateListen {
			into[fields[9]] = true
		}
	}
}
