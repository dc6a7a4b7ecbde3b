package kafka

import (
	"net"
	"os"
	"strings"
)

// Instance is the name by which a group knows a consumer across its restarts
// (group.instance.id), in the characters that Kafka allows. A consumer that was
// killed has its partitions back at once when it comes again under its name;
// without one, the group waits for the session of the killed one to end.
//
// Without a name it is made from the host's and the admin listener's address:
// only one process of a host can have that. It is "" when the host has no name,
// which costs the quick return and nothing else.
func Instance(name string, admin net.Addr) string {
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return ""
		}
		name = host + "-" + admin.String()
	}
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
}
