package cri

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maxLogLine is where containerd splits a line into partial entries.
const maxLogLine = 16 * 1024

// containerLog writes the log file format that the CRI asks for:
// "time stream F text", with P for a line that goes on.
type containerLog struct {
	path string

	mu        sync.Mutex
	file      *os.File
	followers map[*follower]bool
}

// follower is an attached client.
type follower struct{ out, errs io.Writer }

// follow copies each further line to the client until the returned stop.
func (l *containerLog) follow(out, errs io.Writer) (stop func()) {
	f := &follower{out, errs}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers[f] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.followers, f)
	}
}

func newContainerLog(path string) *containerLog {
	return &containerLog{path: path, followers: map[*follower]bool{}}
}

// open creates the file, or follows a rotation.
func (l *containerLog) open() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return fmt.Errorf("container log: %w", err)
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("container log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
	}
	l.file = f
	return nil
}

func (l *containerLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

func (l *containerLog) entry(stream, tag string, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		fmt.Fprintf(l.file, "%s %s %s %s\n", time.Now().UTC().Format(time.RFC3339Nano), stream, tag, text)
	}
	for f := range l.followers {
		w := f.out
		if stream == "stderr" {
			w = f.errs
		}
		if w != nil {
			fmt.Fprintf(w, "%s\n", text)
		}
	}
}

// stream is one of the two output streams of a container.
type stream struct {
	log  *containerLog
	name string

	mu   sync.Mutex
	rest []byte
}

func (s *stream) Write(p []byte) (int, error) {
	if s.log == nil {
		return len(p), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = append(s.rest, p...)
	for {
		i := bytes.IndexByte(s.rest, '\n')
		switch {
		case i >= 0 && i <= maxLogLine:
			s.log.entry(s.name, "F", s.rest[:i])
			s.rest = s.rest[i+1:]
		case len(s.rest) > maxLogLine:
			s.log.entry(s.name, "P", s.rest[:maxLogLine])
			s.rest = s.rest[maxLogLine:]
		default:
			return len(p), nil
		}
	}
}

// flush writes a last line without its newline.
func (s *stream) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log != nil && len(s.rest) > 0 {
		s.log.entry(s.name, "F", s.rest)
	}
	s.rest = nil
}
