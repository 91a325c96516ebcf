package workspace

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// follow reads n events from the stream.
func events(t *testing.T, s *Server, query, lastID string, n int, during func()) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/_workspace/events?"+query, nil)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if during != nil {
		during()
	}
	var out []string
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 1<<20)
	name, id := "", ""
	for len(out) < n && lines.Scan() {
		line := lines.Text()
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			id = v
		}
		if v, ok := strings.CutPrefix(line, "event: "); ok {
			name = v
		}
		if line == "" && name != "" {
			out = append(out, strings.TrimPrefix(id+" "+name, " "))
			name, id = "", ""
		}
	}
	if len(out) < n {
		t.Fatalf("only %q of %d events", out, n)
	}
	return out
}

func TestStreamReplaysAndFilters(t *testing.T) {
	s := start(t)
	post := func() { s.must(t, "chat.postMessage", "channel", s.class(), "text", "x") }
	got := events(t, s, "as=amir", "", 3, func() { post(); post() })
	if strings.Join(got, ",") != "hello,1 message,2 message" {
		t.Errorf("live: %q", got)
	}
	s.must(t, "chat.postEphemeral", "channel", s.class(), "user", s.person("lena").ID, "text", "x")
	s.must(t, "chat.postMessage", "channel", s.person("tom").ID, "text", "private")
	post()
	if got := events(t, s, "as=amir", "1", 3, nil); strings.Join(got, ",") != "hello,2 message,5 message" {
		t.Errorf("replay for amir: %q, want neither lena's ephemeral nor tom's direct message", got)
	}
	if got := events(t, s, "as=lena", "2", 3, nil); strings.Join(got, ",") != "hello,3 ephemeral,5 message" {
		t.Errorf("replay for lena: %q", got)
	}
	if got := events(t, s, "as=amir", "99", 1, nil); got[0] != "5 reset" {
		t.Errorf("an id from another life: %q", got)
	}
	for range streamBuffer {
		s.mu.Lock()
		s.emit(event{name: "app_connected", data: obj{}})
		s.mu.Unlock()
	}
	if got := events(t, s, "", "2", 1, nil); !strings.HasSuffix(got[0], "reset") {
		t.Errorf("after the buffer has run over: %q", got)
	}
}

func TestRing(t *testing.T) {
	r := ring[int]{size: 3}
	for i := 1; i <= 10; i++ {
		if seq := r.add(i); seq != i {
			t.Fatalf("sequence %d, want %d", seq, i)
		}
		items, first, whole := r.since(0)
		if want := max(1, i-2); first != want || items[0] != want || len(items) != min(i, 3) || whole != (i <= 3) {
			t.Fatalf("after %d: %v from %d, whole %t", i, items, first, whole)
		}
	}
	if items, _, whole := r.since(10); len(items) != 0 || !whole {
		t.Errorf("nothing is new: %v", items)
	}
}
