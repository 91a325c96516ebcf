package workspace

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// BenchmarkCommand is the workspace's own share of a command: from the control
// call to its answer, with an app that acks at once.
func BenchmarkCommand(b *testing.B) {
	s, err := New(Options{RateLimits: RateLimits{Off: true}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}()
	s.mu.Lock()
	o, _ := connectionsOpen(s, appCall{})
	s.mu.Unlock()
	conn, _, err := websocket.Dial(ctx, o["url"].(string), nil)
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				return
			}
			_, rest, _ := strings.Cut(string(data), `"envelope_id":"`)
			if id, _, ok := strings.Cut(rest, `"`); ok && conn.Write(ctx, websocket.MessageText, []byte(`{"envelope_id":"`+id+`"}`)) != nil {
				return
			}
		}
	}()
	b.ResetTimer()
	for b.Loop() {
		r, err := http.Post(s.URL()+"/_workspace/command", "application/json", strings.NewReader(`{"user":"amir","channel":"general","text":"/lab list"}`))
		if err != nil || r.StatusCode != http.StatusOK {
			b.Fatal(r, err)
		}
		io.Copy(io.Discard, r.Body) //nolint:errcheck // lets the connection be used again
		r.Body.Close()
	}
}

// BenchmarkUpdate edits one message in a long thread, as a live board does.
func BenchmarkUpdate(b *testing.B) {
	s, err := New(Options{RateLimits: RateLimits{Off: true}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}()
	s.mu.Lock()
	c := s.channels[0]
	root := &message{User: s.app.BotUserID, Bot: true, Text: "board"}
	s.post(c, root)
	for range 2000 {
		s.post(c, &message{User: s.app.BotUserID, Bot: true, Text: "evidence", ThreadTS: root.TS})
	}
	s.mu.Unlock()
	form := url.Values{"token": {s.app.BotToken}, "channel": {c.ID}, "ts": {root.TS}, "text": {"board"}, "blocks": {times(20, `{"type":"section","text":{"type":"mrkdwn","text":"a line of the board"}}`)}}
	b.ResetTimer()
	for b.Loop() {
		r, err := http.PostForm(s.APIURL()+"chat.update", form)
		if err != nil || r.StatusCode != http.StatusOK {
			b.Fatal(r, err)
		}
		io.Copy(io.Discard, r.Body) //nolint:errcheck // lets the connection be used again
		r.Body.Close()
	}
}
