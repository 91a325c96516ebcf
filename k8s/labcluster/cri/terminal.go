package cri

import (
	"io"
	"sync"

	"golang.org/x/term"
)

// terminal gives a shell that knows nothing of terminals line editing, echo and
// a prompt, as the line discipline of a kernel would.
type terminal struct {
	t *term.Terminal

	mu   sync.Mutex
	rest []byte
}

type readWriter struct {
	io.Reader
	io.Writer
}

func newTerminal(in io.Reader, out io.Writer, prompt string) *terminal {
	return &terminal{t: term.NewTerminal(readWriter{in, out}, prompt)}
}

func (t *terminal) Write(p []byte) (int, error) { return t.t.Write(p) }

func (t *terminal) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.rest) == 0 {
		line, err := t.t.ReadLine()
		if err != nil {
			return 0, err
		}
		t.rest = []byte(line + "\n")
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}
