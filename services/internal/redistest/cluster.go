package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/redisconn"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

const (
	shards = 3
	slots  = 16384 // of every Redis Cluster

	// nodeTimeout is how long a node of the cluster is silent before it counts as
	// away: short, so that a failover takes a test about two seconds.
	nodeTimeout = time.Second
	// formTimeout is generous: six servers share a test machine's cores.
	formTimeout = 60 * time.Second
	pollEvery   = 50 * time.Millisecond
)

// Cluster is a Redis Cluster of three primaries with one replica each.
type Cluster struct {
	// URL is what a service is configured with.
	URL string

	nodes []*clusterNode // the primaries, then their replicas in the same order
}

type clusterNode struct {
	addr, host, port, bus string
	client                *redis.Client
	process               *testproc.Process
}

// StartCluster starts an empty Redis Cluster that ends with the test.
func StartCluster(tb testing.TB) *Cluster {
	tb.Helper()
	program, ok := testproc.Look("redis-server")
	if !ok {
		testproc.Missing(tb, "redis-server")
	}
	c := &Cluster{}
	addrs := make([]string, 0, 2*shards)
	for range 2 * shards {
		n := startNode(tb, program)
		c.nodes = append(c.nodes, n)
		addrs = append(addrs, n.addr)
	}
	c.URL = "redis://" + addrs[0] + "?cluster=true&addr=" + strings.Join(addrs[1:], "&addr=")
	c.form(tb)
	return c
}

func startNode(tb testing.TB, program string) *clusterNode {
	tb.Helper()
	n := &clusterNode{addr: testproc.FreeAddr(tb)}
	var err error
	if n.host, n.port, err = net.SplitHostPort(n.addr); err != nil {
		tb.Fatal(err)
	}
	// The default, 10,000 above the port, may be no port at all.
	if _, n.bus, err = net.SplitHostPort(testproc.FreeAddr(tb)); err != nil {
		tb.Fatal(err)
	}
	n.client = (&Server{URL: "redis://" + n.addr}).Client(tb)
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), program,
		"--port", n.port, "--bind", n.host, "--save", "", "--appendonly", "no", "--dir", tb.TempDir(),
		"--cluster-enabled", "yes", "--cluster-port", n.bus, "--cluster-config-file", "nodes.conf",
		"--cluster-node-timeout", strconv.FormatInt(nodeTimeout.Milliseconds(), 10), "--repl-diskless-sync-delay", "0",
		// A replica that has been sent nothing, not even a ping, is named to no client.
		"--repl-ping-replica-period", "1")
	n.process, err = testproc.Start(cmd, func(ctx context.Context) error { return n.client.Ping(ctx).Err() })
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(n.process.Kill)
	return n
}

// form makes one cluster of the nodes, and waits until all of them say so.
func (c *Cluster) form(tb testing.TB) {
	tb.Helper()
	ctx := tb.Context()
	first := c.nodes[0]
	for i, n := range c.nodes {
		errs := []error{n.client.Do(ctx, "cluster", "set-config-epoch", i+1).Err()}
		if i < shards {
			errs = append(errs, n.client.ClusterAddSlotsRange(ctx, i*slots/shards, (i+1)*slots/shards-1).Err())
		}
		if i > 0 {
			errs = append(errs, n.client.Do(ctx, "cluster", "meet", first.host, first.port, first.bus).Err())
		}
		if err := errors.Join(errs...); err != nil {
			tb.Fatal(err)
		}
	}
	c.await(tb, "cluster info", fmt.Sprint("cluster_known_nodes:", len(c.nodes)), c.nodes)
	for i, replica := range c.nodes[shards:] {
		primary, err := c.nodes[i].client.Do(ctx, "cluster", "myid").Text()
		if err != nil {
			tb.Fatal(err)
		}
		// It knows the primary by gossip, which may come a little later.
		eventually(tb, "a replica follows its primary", func() error { return replica.client.ClusterReplicate(ctx, primary).Err() })
	}
	c.await(tb, "info replication", "master_link_status:up", c.nodes[shards:])
	c.await(tb, "cluster info", "cluster_state:ok", c.nodes)
	eventually(tb, "every node knows that every replica has followed", func() error {
		for _, n := range c.nodes {
			known, err := n.client.ClusterShards(ctx).Result()
			if err != nil {
				return err
			}
			if len(known) != shards {
				return fmt.Errorf("%s knows %d shards", n.addr, len(known))
			}
			for _, s := range known {
				online := 0
				for i := range s.Nodes {
					if s.Nodes[i].Health == "online" {
						online++
					}
				}
				if online != 2 {
					return fmt.Errorf("%d nodes of slots %v are online", online, s.Slots)
				}
			}
		}
		return nil
	})
}

// await waits until each node answers a command with a line.
func (c *Cluster) await(tb testing.TB, command, line string, nodes []*clusterNode) {
	tb.Helper()
	name, argument, _ := strings.Cut(command, " ")
	for _, n := range nodes {
		eventually(tb, n.addr+" says "+line, func() error {
			info, err := n.client.Do(tb.Context(), name, argument).Text()
			if err == nil && !strings.Contains(info, line+"\r\n") {
				return fmt.Errorf("it says %s", info)
			}
			return err
		})
	}
}

// KillPrimary ends the primary that holds key with SIGKILL. Its replica takes over
// when the others have noticed, after a second or two.
func (c *Cluster) KillPrimary(tb testing.TB, key string) {
	tb.Helper()
	c.nodes[c.primary(tb, key)].process.Kill()
}

// Detach makes the replica of the primary that holds key stop following it: what is
// written from now on is lost when it takes over. It is for shards that have not
// failed over yet.
func (c *Cluster) Detach(tb testing.TB, key string) {
	tb.Helper()
	i := c.primary(tb, key)
	detach(tb, c.nodes[i].client, c.nodes[shards+i].client)
}

func (c *Cluster) primary(tb testing.TB, key string) int {
	tb.Helper()
	primary, err := c.Client(tb).MasterForKey(tb.Context(), key)
	if err != nil {
		tb.Fatal(err)
	}
	for i, n := range c.nodes {
		if n.addr == primary.Options().Addr {
			return i
		}
	}
	tb.Fatalf("the primary of %s is at %s, which is none of this cluster", key, primary.Options().Addr)
	return 0
}

// Client returns a client that is closed with the test. It reads from primaries.
func (c *Cluster) Client(tb testing.TB) *redis.ClusterClient {
	tb.Helper()
	return c.open(tb, c.URL)
}

// Reader returns a client that reads from replicas and is closed with the test.
func (c *Cluster) Reader(tb testing.TB) *redis.ClusterClient {
	tb.Helper()
	return c.open(tb, c.URL+"&read_only=true")
}

func (c *Cluster) open(tb testing.TB, url string) *redis.ClusterClient {
	tb.Helper()
	opened, err := redisconn.Open(url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = opened.Close() })
	client, ok := opened.(*redis.ClusterClient)
	if !ok {
		tb.Fatalf("%s opens a %T", url, opened)
	}
	return client
}

func eventually(tb testing.TB, what string, try func() error) {
	tb.Helper()
	deadline := time.Now().Add(formTimeout)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s: not after %v: %v", what, formTimeout, err)
		}
		<-tick.C
	}
}
