package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// clock is a hand-moved clock.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Unix(1_796_000_000, 0)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// start runs a workspace until the test ends.
func start(t *testing.T, change ...func(*Options)) *Server {
	t.Helper()
	opt := Options{RateLimits: RateLimits{Off: true}, Timing: Timing{Ack: 2 * time.Second, Save: time.Millisecond}}
	for _, f := range change {
		f(&opt)
	}
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("Run did not end within 10 s")
		}
	})
	return s
}

func decode(t *testing.T, r *http.Response) obj {
	t.Helper()
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var o obj
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatalf("%s %s: not an object: %.300s", r.Request.Method, r.Request.URL, raw)
	}
	return o
}

// api calls a method with the bot token and a form, as slack-go does.
func (s *Server) api(t *testing.T, method string, pairs ...string) obj {
	t.Helper()
	o, _ := s.apiResponse(t, method, pairs...)
	return o
}

func (s *Server) apiResponse(t *testing.T, method string, pairs ...string) (obj, *http.Response) {
	t.Helper()
	form := url.Values{"token": {s.app.BotToken}}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	r, err := http.PostForm(s.APIURL()+method, form)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, r), r
}

// must calls a method that has to succeed.
func (s *Server) must(t *testing.T, method string, pairs ...string) obj {
	t.Helper()
	o := s.api(t, method, pairs...)
	if o["ok"] != true {
		t.Fatalf("%s %v: %v", method, pairs, o)
	}
	return o
}

func (s *Server) act(t *testing.T, path string, body obj) (obj, int) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(s.URL()+"/_workspace/"+path, "application/json", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, r), r.StatusCode
}

func (s *Server) do(t *testing.T, path string, body obj) obj {
	t.Helper()
	o, status := s.act(t, path, body)
	if o["ok"] != true {
		t.Fatalf("%s %v: %d %v", path, body, status, o)
	}
	return o
}

func (s *Server) read(t *testing.T, path string) []obj {
	t.Helper()
	r, err := http.Get(s.URL() + "/_workspace/" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var out []obj
	if err := json.NewDecoder(r.Body).Decode(&out); err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return out
}

// class is the id of the class channel.
func (s *Server) class() string { return s.opt.Channels[0].ID }

// raw is a Socket Mode client that shows every frame.
type raw struct {
	t    *testing.T
	conn *websocket.Conn
}

func (s *Server) dial(t *testing.T) *raw {
	t.Helper()
	req, _ := http.NewRequest(http.MethodPost, s.APIURL()+"apps.connections.open", nil)
	req.Header.Set("Authorization", "Bearer "+s.app.AppToken)
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	o := decode(t, r)
	link, _ := o["url"].(string)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, link, nil)
	if err != nil {
		t.Fatalf("dial %v: %v", o, err)
	}
	conn.SetReadLimit(1 << 20)
	t.Cleanup(func() { conn.CloseNow() }) //nolint:errcheck // the end
	c := &raw{t: t, conn: conn}
	if hello := c.next(); hello["type"] != "hello" {
		t.Fatalf("first frame is %v, want hello", hello)
	}
	return c
}

func (c *raw) read() (obj, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, data, err := c.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	var o obj
	return o, json.Unmarshal(data, &o)
}

func (c *raw) next() obj {
	c.t.Helper()
	o, err := c.read()
	if err != nil {
		c.t.Fatalf("read a frame: %v", err)
	}
	return o
}

func (c *raw) write(data string) {
	c.t.Helper()
	if err := c.conn.Write(context.Background(), websocket.MessageText, []byte(data)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *raw) ack(frame obj, payload string) {
	c.t.Helper()
	id, _ := frame["envelope_id"].(string)
	if payload == "" {
		c.write(`{"envelope_id":"` + id + `"}`)
		return
	}
	c.write(`{"envelope_id":"` + id + `","payload":` + payload + `}`)
}

func inside(frame obj, path string) any {
	var v any = frame
	for _, key := range strings.Split(path, ".") {
		switch at := v.(type) {
		case obj:
			v = at[key]
		case []any:
			v = at[0]
		default:
			return nil
		}
	}
	return v
}

// later runs a control call that waits for an ack.
func later(f func() obj) <-chan obj {
	out := make(chan obj, 1)
	go func() { out <- f() }()
	return out
}
