package pagetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"labbot/bot/workspace"
)

type obj = map[string]any

// app is a small Slack app over the raw protocol: what it answers to an
// envelope is set by handle. It keeps the payloads it was sent.
type app struct {
	t     *testing.T
	space *workspace.Server
	token string
	class string

	mu     sync.Mutex
	seen   []obj
	handle func(kind string, payload obj) (ack any, answer bool)
}

const (
	botToken = "xoxb-pagetest"
	appToken = "xapp-pagetest"
	ackTime  = 800 * time.Millisecond
)

// startApp runs a workspace with one connected app until the test ends.
func startApp(t *testing.T) *app {
	t.Helper()
	opt := workspace.Options{
		RateLimits: workspace.RateLimits{Off: true},
		Timing:     workspace.Timing{Ack: ackTime},
	}
	opt.App.BotToken, opt.App.AppToken = botToken, appToken
	opt.App.Commands = []workspace.Command{{
		Name: "/lab", Description: "Break, watch, fix, prove", UsageHint: "[help|list|SCENARIO]",
		Completions: []workspace.Completion{
			{Text: "break-image", Description: "A wrong image tag"},
			{Text: "reconcile", Description: "Delete a Pod, watch it come back"},
			{Text: "status", Description: "What runs now"},
		},
	}}
	space, err := workspace.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- space.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Error("the workspace did not end within 10 s")
		}
	})
	a := &app{t: t, space: space, token: botToken}
	a.answer(func(string, obj) (any, bool) { return nil, true })
	a.connect(ctx)
	var channels []obj
	a.get("channels", &channels)
	a.class = channels[0]["id"].(string)
	return a
}

func (a *app) answer(f func(kind string, payload obj) (any, bool)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handle = f
}

// payloads lists what the app was sent so far.
func (a *app) payloads() []obj {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]obj(nil), a.seen...)
}

func (a *app) connect(ctx context.Context) {
	a.t.Helper()
	var open struct{ URL string }
	if err := a.post(a.space.APIURL()+"apps.connections.open", appToken, obj{}, &open); err != nil {
		a.t.Fatal(err)
	}
	conn, _, err := websocket.Dial(ctx, open.URL, nil)
	if err != nil {
		a.t.Fatalf("dial the socket: %v", err)
	}
	conn.SetReadLimit(1 << 20)
	var wg sync.WaitGroup
	wg.Go(func() { a.serve(ctx, conn) })
	a.t.Cleanup(func() {
		conn.CloseNow()
		wg.Wait()
	})
}

func (a *app) serve(ctx context.Context, conn *websocket.Conn) {
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var frame struct {
			Type    string
			ID      string `json:"envelope_id"`
			Payload obj
		}
		if json.Unmarshal(data, &frame) != nil || frame.ID == "" {
			continue
		}
		a.mu.Lock()
		a.seen = append(a.seen, frame.Payload)
		handle := a.handle
		a.mu.Unlock()
		kind := frame.Type
		if inner, ok := frame.Payload["type"].(string); ok {
			kind = inner
		}
		ack, answer := handle(kind, frame.Payload)
		if !answer {
			continue
		}
		out := obj{"envelope_id": frame.ID}
		if ack != nil {
			out["payload"] = ack
		}
		raw, err := json.Marshal(out)
		if err != nil || conn.Write(ctx, websocket.MessageText, raw) != nil {
			return
		}
	}
}

func (a *app) post(url, token string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(into)
}

// api calls a Web API method, which has to succeed.
func (a *app) api(method string, args obj) obj {
	var out obj
	err := a.post(a.space.APIURL()+method, a.token, args, &out)
	if err == nil && out["ok"] != true {
		err = fmt.Errorf("answer %v", out)
	}
	if err != nil {
		a.t.Errorf("%s: %v", method, err)
	}
	return out
}

// say posts a message of the bot into the class channel and returns its ts.
func (a *app) say(args obj) string {
	args["channel"] = a.class
	ts, _ := a.api("chat.postMessage", args)["ts"].(string)
	return ts
}

// person does an act of a person through the control API.
func (a *app) person(path string, args obj) obj {
	a.t.Helper()
	var out obj
	if err := a.post(a.space.URL()+"/_workspace/"+path, "", args, &out); err != nil {
		a.t.Fatalf("%s: %v", path, err)
	}
	return out
}

func (a *app) get(path string, into any) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.space.URL()+"/_workspace/"+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		a.t.Fatalf("GET %s: %v", path, err)
	}
}

// until polls a condition of the workspace until it holds.
func (a *app) until(what string, holds func() bool) {
	a.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-deadline:
			a.t.Fatalf("%s: not within %s", what, patience)
		case <-tick.C:
		}
	}
}
