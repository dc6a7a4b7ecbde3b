package far

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const tunDevice = "/dev/net/tun"

// Check says whether this machine can have places, and how. The error says all that
// is missing and how to get it.
func Check(ctx context.Context) (Means, error) {
	var missing []error
	if os.Geteuid() != 0 {
		missing = append(missing, errors.New("root is needed: run it as root"))
	}
	if _, err := exec.LookPath("ip"); err != nil {
		missing = append(missing, errors.New("ip is missing: apt-get install iproute2"))
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("%w: %w", ErrMissing, errors.Join(missing...))
	}
	probe, err := space()
	if err != nil {
		return "", fmt.Errorf("%w: the kernel gives no network namespace (CONFIG_NET_NS, or a container without CAP_SYS_ADMIN): %w", ErrMissing, err)
	}
	defer func() { _ = unix.Close(probe) }()
	p := &Place{ns: probe}
	netem := p.Do(func() error {
		return errors.Join(command(ctx, "ip", "link", "set", "lo", "up"), command(ctx, "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"))
	})
	if netem == nil {
		return Netem, nil
	}
	tun, err := os.OpenFile(tunDevice, os.O_RDWR, 0)
	if err == nil {
		return Tun, tun.Close()
	}
	return "", fmt.Errorf("%w: neither netem (modprobe sch_netem, or a kernel with CONFIG_NET_SCH_NETEM: %w) nor tun (modprobe tun, or CONFIG_TUN: %w)", ErrMissing, netem, err)
}

// space makes a network namespace. It lasts as long as the returned file or a process
// in it.
func space() (fd int, err error) {
	fd = -1
	err = onThread(func() error {
		home, err := open("/proc/thread-self/ns/net")
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(home) }()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making a network namespace: %w", err)
		}
		fd, err = open("/proc/thread-self/ns/net")
		return errors.Join(err, enter(home))
	})
	return fd, err
}

func open(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening %s: %w", path, err)
	}
	return fd, nil
}

func enter(ns int) error {
	if err := unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("entering a network namespace: %w", err)
	}
	return nil
}

// onThread runs f on a locked thread that is not the process's first one: that is the
// one by which others find the namespace of this process.
func onThread(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Gettid() != unix.Getpid() {
		return f()
	}
	done := make(chan error)
	go func() { done <- onThread(f) }() // not on this thread, which is locked
	return <-done
}

// Do runs f on a thread that is in the place; what f starts and opens is there, too.
func (p *Place) Do(f func() error) error {
	return onThread(func() error {
		leave, err := p.Enter()
		if err != nil {
			return err
		}
		return errors.Join(f(), leave())
	})
}

// Enter takes the calling thread, which has to be locked, into the place.
func (p *Place) Enter() (leave func() error, err error) {
	home, err := open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	if err := enter(p.ns); err != nil {
		_ = unix.Close(home)
		return nil, err
	}
	return func() error {
		defer func() { _ = unix.Close(home) }()
		return enter(home)
	}, nil
}

// Open makes the place number n, from 0 to 200, with a link on which a packet takes
// roundTrip there and back.
func Open(ctx context.Context, means Means, n int, roundTrip time.Duration) (p *Place, err error) {
	p = &Place{number: n, RoundTrip: roundTrip}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if p.ns, err = space(); err != nil {
		return p, err
	}
	p.close = append(p.close, func() error { return unix.Close(p.ns) })
	home, away := subnet(n)
	p.Gateway = home
	// Two stacks of different names on one machine must not meet.
	near, distant := "lsl"+strconv.Itoa(os.Getpid()%100_000)+"h"+strconv.Itoa(n), "far0"
	if means == Netem {
		err = p.veth(ctx, near, distant)
	} else {
		err = p.tun(near, distant)
	}
	if err != nil {
		return p, err
	}
	up := func(device, own, other string) error {
		return errors.Join(command(ctx, "ip", "addr", "add", own+"/32", "peer", other+"/32", "dev", device), command(ctx, "ip", "link", "set", device, "up"))
	}
	return p, errors.Join(
		up(near, home, away),
		p.Do(func() error {
			return errors.Join(command(ctx, "ip", "link", "set", "lo", "up"), up(distant, away, home))
		}),
	)
}

// veth makes the link with netem at both ends, half of the time each.
func (p *Place) veth(ctx context.Context, near, distant string) error {
	delay := fmt.Sprintf("%dus", (p.RoundTrip / 2).Microseconds())
	slow := func(device string) error {
		return command(ctx, "tc", "qdisc", "add", "dev", device, "root", "netem", "delay", delay)
	}
	err := p.Do(func() error {
		return errors.Join(command(ctx, "ip", "link", "add", distant, "type", "veth", "peer", "name", near, "netns", strconv.Itoa(os.Getpid())), slow(distant))
	})
	if err != nil {
		return err
	}
	p.close = append(p.close, func() error { return command(context.WithoutCancel(ctx), "ip", "link", "del", near) })
	return slow(near)
}

func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
