package netns

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Network is the addressing of one cluster.
type Network struct {
	Hostname string
	// NodeIPs are put on the loopback device, which is the only one.
	NodeIPs []string
	// PodCIDR is routed to the loopback device as local, so that any of its
	// addresses can be listened on without being assigned.
	PodCIDR string
}

// Enter finishes the namespaces from inside, as their first process.
func Enter(n Network) error {
	if err := enter(n); err != nil {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
			return fmt.Errorf("%w\n(%v)", ErrForbidden, err)
		}
		return err
	}
	return nil
}

func enter(n Network) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// Where /proc is masked (some containers) a new one is refused. The old one
	// still serves for what is read from it.
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if err := unix.Sethostname([]byte(n.Hostname)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find the loopback device: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("bring the loopback device up: %w", err)
	}
	for _, ip := range n.NodeIPs {
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(ip), Mask: net.CIDRMask(32, 32)}}
		if err := netlink.AddrAdd(lo, addr); err != nil {
			return fmt.Errorf("add node address %s: %w", ip, err)
		}
	}
	_, pods, err := net.ParseCIDR(n.PodCIDR)
	if err != nil {
		return fmt.Errorf("pod CIDR: %w", err)
	}
	route := &netlink.Route{
		LinkIndex: lo.Attrs().Index, Dst: pods, Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Scope: netlink.SCOPE_HOST,
		// Who calls a Pod comes from the node, as on a real one.
		Src: net.ParseIP(n.NodeIPs[0]),
	}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("route the Pod addresses: %w", err)
	}
	return nil
}
