package workspace

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		name, host, path, header, value string
		want                            int
	}{
		{"loopback", "", "/_workspace/users", "", "", 200},
		{"localhost", "localhost:1", "/_workspace/users", "", "", 200},
		{"IPv6", "[::1]:1", "/_workspace/users", "", "", 200},
		{"rebound name", "evil.example:80", "/_workspace/users", "", "", 403},
		{"rebound name on the API", "evil.example", "/api/auth.test", "", "", 403},
		{"cross-site", "", "/_workspace/users", "Sec-Fetch-Site", "cross-site", 403},
		{"foreign origin", "", "/_workspace/users", "Origin", "https://evil.example", 403},
		{"null origin", "", "/_workspace/users", "Origin", "null", 403},
		{"own origin", "", "/_workspace/users", "Origin", s.URL(), 200},
		{"Slack's origin on the API", "", "/api/auth.test", "Origin", "https://api.slack.com", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, _ := http.NewRequest(http.MethodGet, s.URL()+c.path, nil)
			if c.host != "" {
				req.Host = c.host
			}
			if c.header != "" {
				req.Header.Set(c.header, c.value)
			}
			r, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if r.StatusCode != c.want {
				t.Errorf("status = %d, want %d", r.StatusCode, c.want)
			}
		})
	}
}

func TestLists(t *testing.T) {
	s := start(t)
	users := s.read(t, "users")
	if len(users) != 5 || users[0]["title"] != "Instructor" || users[0]["initials"] != "IV" {
		t.Errorf("users = %v", users)
	}
	for _, u := range users[1:] {
		if u["title"] != "Learner" || u["id"] == "" || u["color"] == "" {
			t.Errorf("learner = %v", u)
		}
	}
	channels := s.read(t, "channels?as=amir")
	var names []string
	for _, c := range channels {
		names = append(names, c["type"].(string)+" "+c["name"].(string))
	}
	if got := strings.Join(names, ","); got != "channel k8s-fundamentals,channel general,im labbot" {
		t.Errorf("channels of amir = %s", got)
	}
	if n := len(s.read(t, "channels")); n != 7 {
		t.Errorf("%d channels in all, want 2 and 5 direct messages", n)
	}
	if c := s.read(t, "commands"); c[0]["command"] != "/lab" {
		t.Errorf("commands = %v", c)
	}
}

func TestTyping(t *testing.T) {
	s := start(t)
	amir, bot, general := s.person("amir").ID, s.app.BotUserID, s.opt.Channels[1].ID
	for in, want := range map[string]string{
		"@labbot status":          "<@" + bot + "> status",
		"hi @amir.":               "hi <@" + amir + ">.",
		"see #general & <b>":      "see <#" + general + "|general> &amp; &lt;b&gt;",
		"<@" + bot + "> x":        "<@" + bot + "> x",
		"mail a@nobody now":       "mail a@nobody now",
		"@here now":               "<!here> now",
		"<https://a.b|c> a&amp;b": "<https://a.b|c> a&amp;amp;b",
	} {
		o := s.do(t, "message", obj{"user": "@amir", "channel": "#general", "text": in})
		if got := inside(o, "message.text"); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	for name, body := range map[string]obj{
		"unknown user":    {"user": "zed", "channel": "general", "text": "x"},
		"unknown channel": {"user": "amir", "channel": "nowhere", "text": "x"},
		"unknown thread":  {"user": "amir", "channel": "general", "text": "x", "thread_ts": "1.000001"},
	} {
		if o, status := s.act(t, "message", body); status != 404 || o["ok"] != false {
			t.Errorf("%s: %d %v", name, status, o)
		}
	}
	if o, _ := s.act(t, "message", obj{"user": "amir", "channel": "general", "text": "/lab x"}); o["error"] != "dispatch_failed" {
		t.Errorf("a command in the composer: %v", o)
	}
}

func TestPeopleEditDeleteReact(t *testing.T) {
	s := start(t)
	ts := s.do(t, "message", obj{"user": "amir", "channel": "general", "text": "frist"})["ts"]
	mine := obj{"user": "amir", "channel": "general", "ts": ts}
	theirs := obj{"user": "lena", "channel": "general", "ts": ts}
	with := func(o obj, k string, v any) obj { o = cloneObject(o); o[k] = v; return o }
	if o, _ := s.act(t, "edit", with(theirs, "text", "x")); o["error"] != "cant_update_message" {
		t.Errorf("lena edits amir's message: %v", o)
	}
	s.do(t, "edit", with(mine, "text", "first"))
	s.do(t, "react", with(theirs, "name", ":eyes:"))
	m := s.read(t, "messages?channel=general")[0]
	if m["text"] != "first" || m["edits"] != 1.0 || inside(m, "reactions.0.name") != "eyes" {
		t.Errorf("message = %v", m)
	}
	s.do(t, "react", with(with(theirs, "name", "eyes"), "remove", true))
	if m := s.read(t, "messages?channel=general")[0]; m["reactions"] != nil {
		t.Errorf("reaction stays: %v", m)
	}
	if found := s.read(t, "search?channel=general&q=FIRST"); len(found) != 1 {
		t.Errorf("search = %v", found)
	}
	if o, _ := s.act(t, "delete", theirs); o["error"] != "cant_delete_message" {
		t.Errorf("lena deletes amir's message: %v", o)
	}
	s.do(t, "delete", with(mine, "user", "irina"))
	if n := len(s.read(t, "messages?channel=general")); n != 0 {
		t.Errorf("%d messages left", n)
	}
}

func TestStateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "workspace.json")
	opt := Options{StateFile: path, RateLimits: RateLimits{Off: true}}
	first, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	first.mu.Lock()
	c := first.channels[0]
	root := &message{User: "U1", Text: "root", Blocks: []any{obj{"type": "divider"}}}
	first.post(c, root)
	first.post(c, &message{User: "U1", Text: "reply", ThreadTS: root.TS})
	first.mu.Unlock()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	s := start(t, func(o *Options) { o.StateFile = path })
	got := s.read(t, "messages?channel=k8s-fundamentals")
	if len(got) != 1 || got[0]["reply_count"] != 1.0 || got[0]["ts"] != root.TS {
		t.Errorf("after a restart: %v", got)
	}
	ts := s.must(t, "chat.postMessage", "channel", s.class(), "text", "x")["ts"].(string)
	if !after(ts, root.TS) {
		t.Errorf("ts %s is not after %s", ts, root.TS)
	}
	eventually(t, "the change is saved", func() bool {
		again := &Server{opt: s.opt, channels: []*channel{{ID: s.class()}}, files: map[string]*file{}, homes: map[string]*view{}, views: map[string]*view{}}
		return again.load() == nil && again.channels[0].find(ts) != nil
	})
}

func TestPageAndDeepLink(t *testing.T) {
	s := start(t)
	ts := s.must(t, "chat.postMessage", "channel", s.class(), "text", "x")["ts"].(string)
	link := s.must(t, "chat.getPermalink", "channel", s.class(), "message_ts", ts)["permalink"].(string)
	if want := s.URL() + "/archives/" + s.class() + "/p" + strings.Replace(ts, ".", "", 1); link != want {
		t.Errorf("permalink = %s, want %s", link, want)
	}
	for _, u := range []string{s.URL() + "/", link} {
		r, err := http.Get(u)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %s", u, r.StatusCode, r.Header.Get("Content-Type"))
		}
	}
}

func TestThreadList(t *testing.T) {
	s := start(t)
	say := func(channel, thread string) string {
		return s.do(t, "message", obj{"user": "amir", "channel": channel, "text": "x", "thread_ts": thread})["ts"].(string)
	}
	a, b := say("general", ""), say("k8s-fundamentals", "")
	say("general", a)
	say("k8s-fundamentals", b)
	say("general", "") // has no replies
	private := say("@labbot", "")
	say("@labbot", private)
	got := ""
	for _, m := range s.read(t, "threads?as=lena") {
		got += m["ts"].(string) + " "
	}
	if got != b+" "+a+" " {
		t.Errorf("threads = %s, want %s %s", got, b, a)
	}
	if n := len(s.read(t, "threads?channel=general")); n != 1 {
		t.Errorf("%d threads in general, want 1", n)
	}
}

func TestLoopbackOnly(t *testing.T) {
	if s, err := New(Options{Addr: "0.0.0.0:0"}); err == nil {
		s.Close() //nolint:errcheck // it should not be there
		t.Error("the workspace listens on all addresses")
	} else if !strings.Contains(err.Error(), "loopback") {
		t.Errorf("error = %v", err)
	}
}
