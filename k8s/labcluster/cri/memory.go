package cri

import "sync"

// memory is the simulated working set of a container. Its limit is asked for at
// each change, as it can be resized.
type memory struct {
	limit    func() int64
	exceeded chan struct{}

	mu   sync.Mutex
	used int64
	over bool
}

func newMemory(limit func() int64) *memory {
	return &memory{limit: limit, exceeded: make(chan struct{})}
}

func (m *memory) set(bytes int64) {
	m.mu.Lock()
	m.used = bytes
	m.mu.Unlock()
	if bytes > 0 {
		m.check()
	}
}

func (m *memory) get() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// check does what the kernel's OOM killer does.
func (m *memory) check() {
	limit := m.limit()
	m.mu.Lock()
	defer m.mu.Unlock()
	if limit > 0 && m.used > limit && !m.over {
		m.over = true
		close(m.exceeded)
	}
}
