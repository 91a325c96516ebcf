package slackapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"labbot/bot"
	"labbot/bot/board"
	"labbot/bot/lab"
	"labbot/bot/workspace"
)

const (
	botToken = "xoxb-planted-bot-secret"
	appToken = "xapp-planted-app-secret"
)

// space is a strict local workspace with the app installed.
type space struct {
	t   *testing.T
	url string
	id  lab.ChannelID
}

func newSpace(t *testing.T) *space {
	t.Helper()
	ws, err := workspace.New(workspace.Options{App: workspace.App{BotToken: botToken, AppToken: appToken}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ws.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	s := &space{t: t, url: ws.URL()}
	var channels []struct{ ID string }
	s.get("channels", &channels)
	s.id = lab.ChannelID(channels[0].ID)
	return s
}

func (s *space) get(path string, into any) {
	s.t.Helper()
	resp, err := http.Get(s.url + "/_workspace/" + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		s.t.Fatalf("GET %s: %v", path, err)
	}
}

func (s *space) post(path, body string) string {
	s.t.Helper()
	resp, err := http.Post(s.url+"/_workspace/"+path, "application/json", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	return string(raw)
}

func (s *space) client() *Client {
	return New(Options{BotToken: botToken, AppToken: appToken, URL: s.url + "/api/", Logger: zaptest.NewLogger(s.t)})
}

type said struct {
	TS, Text string
	ThreadTS string `json:"thread_ts"`
	Edits    int
	Files    []struct{ Name string }
}

func (s *space) messages(thread lab.TS) []said {
	var all []said
	s.get(fmt.Sprintf("messages?channel=%s&thread_ts=%s", s.id, thread), &all)
	return all
}

func text(s string) func() board.Message {
	return func() board.Message {
		return board.Message{Text: s, Blocks: []slack.Block{slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, s, false, false), nil, nil)}}
	}
}

func TestAMessageIsPostedEditedAndFoundAgain(t *testing.T) {
	s := newSpace(t)
	c := s.client()
	ctx := t.Context()
	meta := map[string]any{"run": "r-1", "slot": "board"}
	root, err := c.Post(ctx, s.id, "", meta, text("first"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Update(ctx, s.id, root, meta, text("second")); err != nil {
		t.Fatal(err)
	}
	reply, err := c.Post(ctx, s.id, root, map[string]any{"run": "r-1", "slot": "one"}, text("reply"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Upload(ctx, s.id, root, "describe.txt", "describe", "Name: web\n"); err != nil {
		t.Fatal(err)
	}
	got := s.messages(root)
	if len(got) != 3 || got[0].Text != "second" || got[0].Edits != 1 || got[1].TS != string(reply) || len(got[2].Files) != 1 {
		t.Errorf("the thread is %+v", got)
	}
	since := time.Now().Add(-time.Hour)
	for _, want := range []struct {
		parent lab.TS
		slot   string
		ts     lab.TS
	}{{"", "board", root}, {root, "one", reply}, {root, "two", ""}} {
		ts, found, err := c.Find(ctx, s.id, want.parent, since, map[string]any{"run": "r-1", "slot": want.slot})
		if err != nil || ts != want.ts || found != (want.ts != "") {
			t.Errorf("Find(%s) = %q, %t, %v; want %q", want.slot, ts, found, err, want.ts)
		}
	}
}

func TestA429IsWaitedOut(t *testing.T) {
	s := newSpace(t)
	s.post("faults", `{"kind":"ratelimited","method":"chat.postMessage","retry_after":1,"times":1}`)
	begun := time.Now()
	if _, err := s.client().Post(t.Context(), s.id, "", nil, text("late")); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < time.Second || len(s.messages("")) != 1 {
		t.Errorf("posted after %s, %d messages; want one after 1 s", took, len(s.messages("")))
	}
}

func TestErrorsSayWhatMayHaveHappened(t *testing.T) {
	s := newSpace(t)
	c := s.client()
	for name, act := range map[string]struct {
		fault   string
		maybe   bool
		lasting bool
	}{
		"lost answer":  {fault: `{"kind":"lost_answer","method":"chat.postMessage","times":1}`, maybe: true},
		"server error": {fault: `{"kind":"http_error","method":"chat.postMessage","status":503,"times":1}`, maybe: true},
		"archived":     {fault: `{"kind":"error","method":"chat.postMessage","error":"is_archived","times":1}`, lasting: true},
		"bad token":    {fault: `{"kind":"error","method":"chat.postMessage","error":"token_revoked","times":1}`, lasting: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.post("faults", act.fault); !strings.Contains(got, `"ok":true`) {
				t.Fatalf("faults: %s", got)
			}
			_, err := c.Post(t.Context(), s.id, "", nil, text("x"))
			var e *Error
			if !errors.As(err, &e) || e.Maybe != act.maybe || e.Lasting() != act.lasting {
				t.Errorf("error %+v, want maybe %t, lasting %t", e, act.maybe, act.lasting)
			}
			if strings.Contains(fmt.Sprint(err), "planted") {
				t.Errorf("the error shows a token: %v", err)
			}
		})
	}
}

// listen runs Listen until the test ends and returns what it gave.
func listen(t *testing.T, c *Client, h bot.Handler) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Listen(ctx, h) }()
	var once sync.Once
	var err error
	stop = func() error { once.Do(func() { cancel(); err = <-done }); return err }
	t.Cleanup(func() { _ = stop() })
	return stop
}

func (s *space) connected() {
	s.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		var h struct{ Sockets int }
		s.get("health", &h)
		if h.Sockets == sockets {
			return
		}
	}
	s.t.Fatal("the sockets did not open")
}

func TestACommandIsAckedWithTheAnswer(t *testing.T) {
	s := newSpace(t)
	stop := listen(t, s.client(), func(_ context.Context, e bot.Envelope) any {
		switch e.Command.Text {
		case "panic":
			panic("boom")
		case "slow":
			<-time.After(100 * time.Millisecond)
		}
		return map[string]string{"text": "heard " + e.Command.Text}
	})
	s.connected()
	var wg sync.WaitGroup
	for _, word := range []string{"one", "slow", "panic", "two"} {
		wg.Go(func() {
			got := s.post("command", `{"user":"amir","channel":"k8s-fundamentals","text":"/lab `+word+`"}`)
			if !strings.Contains(got, `"ok":true`) || (word != "panic") != strings.Contains(got, "heard "+word) {
				t.Errorf("/lab %s: %s", word, got)
			}
		})
	}
	wg.Wait()
	if err := stop(); err != nil {
		t.Errorf("Listen after the end: %v", err)
	}
}

func TestAnEnvelopeTwiceIsHandledOnce(t *testing.T) {
	s := newSpace(t)
	var mu sync.Mutex
	n := 0
	stop := listen(t, s.client(), func(context.Context, bot.Envelope) any {
		mu.Lock()
		defer mu.Unlock()
		n++
		return map[string]string{"text": "heard"}
	})
	s.connected()
	s.post("faults", `{"kind":"duplicate","times":1}`)
	s.post("command", `{"user":"amir","channel":"k8s-fundamentals","text":"/lab one"}`)
	s.post("command", `{"user":"amir","channel":"k8s-fundamentals","text":"/lab two"}`)
	_ = stop()
	if n != 2 {
		t.Errorf("handled %d times, want 2", n)
	}
}

func TestUselessTokensEndTheListening(t *testing.T) {
	s := newSpace(t)
	c := New(Options{BotToken: "xoxb-planted-wrong", AppToken: "xapp-planted-wrong", URL: s.url + "/api/", Logger: zap.NewNop()})
	done := make(chan error, 1)
	go func() { done <- c.Listen(t.Context(), func(context.Context, bot.Envelope) any { return nil }) }()
	select {
	case err := <-done:
		if !Fatal(err) || strings.Contains(err.Error(), "planted") {
			t.Errorf("Listen = %v, want a fatal error without the token", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Listen goes on with useless tokens")
	}
}

func TestNoTokenInTransportErrors(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	c := New(Options{BotToken: botToken, AppToken: appToken, URL: gone.URL + "/api/", Logger: zap.NewNop()})
	_, err := c.Identity(t.Context())
	if err == nil || strings.Contains(err.Error(), "planted") || strings.Contains(err.Error(), "?") {
		t.Errorf("error = %v", err)
	}
}
