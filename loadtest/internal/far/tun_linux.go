package far

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// packetRoom is more than a packet of a tun device has.
	packetRoom = 1 << 16
	// underWay is how many packets may be on the link in one direction; more are lost,
	// as on any link.
	underWay = 10_000
)

// packet is one on its way.
type packet struct {
	due  time.Time
	data []byte
}

// tun makes the link of two devices; this process carries packets from one to the
// other and holds each for half of the round trip.
func (p *Place) tun(near, distant string) error {
	here, err := openTun(near)
	if err != nil {
		return err
	}
	var there *os.File
	if err := p.Do(func() (err error) { there, err = openTun(distant); return err }); err != nil {
		return errors.Join(err, here.Close())
	}
	var carriers sync.WaitGroup
	carriers.Go(func() { carry(here, there, p.RoundTrip/2) })
	carriers.Go(func() { carry(there, here, p.RoundTrip/2) })
	p.close = append(p.close, func() error {
		err := errors.Join(here.Close(), there.Close())
		carriers.Wait()
		return err
	})
	return nil
}

// openTun makes a device in the namespace of the calling thread.
func openTun(name string) (*os.File, error) {
	fd, err := unix.Open(tunDevice, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", tunDevice, err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("naming a device: %w", err), unix.Close(fd))
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return nil, errors.Join(fmt.Errorf("making the device %s: %w", name, err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), tunDevice), nil // non-blocking: Close wakes up who reads
}

// carry brings packets over until from is closed.
func carry(from, to *os.File, delay time.Duration) {
	link := make(chan packet, underWay)
	var arriving sync.WaitGroup
	arriving.Go(func() {
		timer := time.NewTimer(0)
		defer timer.Stop()
		for p := range link {
			timer.Reset(time.Until(p.due))
			<-timer.C
			_, _ = to.Write(p.data) // a packet that cannot arrive is lost
		}
	})
	room := make([]byte, packetRoom)
	for {
		n, err := from.Read(room)
		if err != nil {
			break
		}
		select {
		case link <- packet{due: time.Now().Add(delay), data: append([]byte(nil), room[:n]...)}:
		default: // policy: lost, and TCP sends it again
		}
	}
	close(link)
	arriving.Wait()
}
