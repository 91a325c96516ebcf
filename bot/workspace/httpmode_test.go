package workspace

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slack-go/slack"
)

func TestHTTPMode(t *testing.T) {
	const secret = "shared-secret"
	var events, unsigned atomic.Int32
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		v, err := slack.NewSecretsVerifier(r.Header, secret)
		if err == nil {
			if _, err = v.Write(body); err == nil {
				err = v.Ensure()
			}
		}
		if err != nil {
			unsigned.Add(1)
		}
		switch r.Header.Get("Content-Type") {
		case "application/x-www-form-urlencoded":
			io.WriteString(w, `{"text":"hello"}`) //nolint:errcheck // a lost answer fails the test anyway
		default:
			if events.Add(1) == 1 {
				w.WriteHeader(http.StatusInternalServerError) // is tried again
				return
			}
			w.Write(body) //nolint:errcheck // gives a challenge back
		}
	}))
	defer app.Close()
	s := start(t, func(o *Options) {
		o.App.RequestURL, o.App.SigningSecret = app.URL, secret
		o.Timing.Retries = [3]time.Duration{time.Nanosecond, time.Millisecond, time.Millisecond}
	})
	o := s.do(t, "command", obj{"user": "amir", "channel": "general", "text": "/lab x"})
	if inside(o, "ack.text") != "hello" {
		t.Errorf("ack = %v", o)
	}
	s.do(t, "message", obj{"user": "amir", "channel": "general", "text": "@labbot hi"})
	eventually(t, "the event is retried and acked", func() bool {
		e := s.read(t, "envelopes")
		last := e[len(e)-1]
		return last["attempt"] == 1.0 && last["acked"] == true
	})
	if err := s.VerifyURL(t.Context()); err != nil {
		t.Error(err)
	}
	if n := unsigned.Load(); n != 0 {
		t.Errorf("%d requests with a bad signature", n)
	}
	req, _ := http.NewRequest(http.MethodPost, s.APIURL()+"apps.connections.open", nil)
	req.Header.Set("Authorization", "Bearer "+s.app.AppToken)
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if o := decode(t, r); o["error"] != "forbidden_team" {
		t.Errorf("a socket in HTTP mode: %v", o)
	}
}
