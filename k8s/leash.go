package k8s

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// leash ends requests of code that takes no context. It is the one place that
// keeps a context in a field: there is no parameter to hand it through.
type leash struct {
	ctx  context.Context
	next http.RoundTripper

	mu   sync.Mutex
	last error
}

// RoundTrip sends the request with the leash's context.
func (l *leash) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r.WithContext(l.ctx))
	var trouble error
	switch {
	case err != nil:
		trouble = err
	case resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests:
		trouble = fmt.Errorf("the API server answered %s", resp.Status)
		l.shorten(resp)
	}
	l.mu.Lock()
	l.last = trouble
	l.mu.Unlock()
	return resp, err
}

// shorten takes away an invitation to wait that reaches past our end: client-go
// would sleep through it without looking at any context.
func (l *leash) shorten(resp *http.Response) {
	after, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s")
	if end, ok := l.ctx.Deadline(); err == nil && ok && time.Until(end) < after {
		resp.Header.Del("Retry-After")
	}
}

// trouble is the error of the last request, nil if the API answered it.
func (l *leash) trouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}
