package cri

import (
	"fmt"
	"net/netip"
)

// addressPool hands out the addresses of a Pod CIDR in turn, so that an address
// just given back is not another Pod's a moment later. The caller locks.
type addressPool struct {
	prefix netip.Prefix
	next   netip.Addr
	used   map[netip.Addr]bool
}

func newAddressPool(cidr string) (*addressPool, error) {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil, fmt.Errorf("pod CIDR: %w", err)
	}
	p := &addressPool{prefix: prefix.Masked(), used: map[netip.Addr]bool{}}
	p.next = p.first()
	return p, nil
}

// first skips the network address and the one a bridge would have.
func (p *addressPool) first() netip.Addr { return p.prefix.Addr().Next().Next() }

func (p *addressPool) take() (string, error) {
	start, wrapped := p.next, false
	for {
		ip := p.next
		p.next = ip.Next()
		// The last address of an IPv4 network is its broadcast address.
		if !p.prefix.Contains(p.next) {
			if wrapped {
				return "", fmt.Errorf("no free address left in %s", p.prefix)
			}
			p.next, wrapped = p.first(), true
			continue
		}
		if !p.used[ip] {
			p.used[ip] = true
			return ip.String(), nil
		}
		if p.next == start {
			return "", fmt.Errorf("no free address left in %s", p.prefix)
		}
	}
}

func (p *addressPool) giveBack(ip string) {
	if a, err := netip.ParseAddr(ip); err == nil {
		delete(p.used, a)
	}
}
