package cri

import "testing"

func TestAddressesAreNotReusedAtOnce(t *testing.T) {
	p, err := newAddressPool("10.244.0.0/29")
	if err != nil {
		t.Fatal(err)
	}
	first, err := p.take()
	if err != nil || first != "10.244.0.2" {
		t.Fatalf("first address %q, %v", first, err)
	}
	p.giveBack(first)
	if next, _ := p.take(); next == first {
		t.Errorf("%s is given out again at once", first)
	}
	// 10.244.0.2 to .6: five addresses, one is taken.
	for range 4 {
		if _, err := p.take(); err != nil {
			t.Fatal(err)
		}
	}
	if ip, err := p.take(); err == nil {
		t.Errorf("a sixth address was found: %s", ip)
	}
}
