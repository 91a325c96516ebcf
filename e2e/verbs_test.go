package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// lab USER WORD…: types a slash command. Standard output of the story is not
// used; the ack must match the last argument when that is `=> REGEXP`.
func (s *story) lab(ts *testscript.TestScript, neg bool, args []string) {
	user, words := args[0], args[1:]
	want := ""
	if n := len(words); n >= 2 && words[n-2] == "=>" {
		want, words = words[n-1], words[:n-2]
	}
	newest := ""
	if roots := s.roots(ts); len(roots) > 0 {
		newest = roots[len(roots)-1].TS
	}
	begun := time.Now()
	a, err := s.post("command", map[string]string{"user": user, "channel": channel, "text": strings.Join(append([]string{"/lab"}, words...), " ")})
	ts.Check(err)
	ts.Logf("ack after %s: %s", time.Since(begun).Round(time.Millisecond), a.Ack)
	if a.OK == neg {
		ts.Fatalf("/lab %s: %+v", strings.Join(words, " "), a)
	}
	if starts.Match(a.Ack) {
		s.since = newest // from here on the story is about the new board
	}
	if want != "" && !regexp.MustCompile(want).MatchString(unescape(a.Ack)) {
		ts.Fatalf("the ack does not match %q: %s", want, a.Ack)
	}
}

// starts is how the bot answers a command that gives a new board.
var starts = regexp.MustCompile("Starting `|waits its turn|Запускаю `")

func unescape(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	return fmt.Sprint(v)
}

// say USER TEXT…: writes into the run's thread.
func (s *story) say(ts *testscript.TestScript, args []string) {
	a, err := s.post("message", map[string]string{"user": args[0], "channel": channel,
		"thread_ts": s.root(ts).TS, "text": strings.Join(args[1:], " ")})
	ts.Check(err)
	if !a.OK {
		ts.Fatalf("say: %+v", a)
	}
}

// press USER BUTTON: presses a button of the run's board.
func (s *story) press(ts *testscript.TestScript, neg bool, args []string) {
	a, err := s.post("click", map[string]string{"user": args[0], "channel": channel, "ts": s.root(ts).TS, "action_id": "run:" + args[1]})
	ts.Check(err)
	if a.OK == neg {
		ts.Fatalf("press %s: %+v", args[1], a)
	}
}

// roots are the bot's messages in the channel that have no parent.
func (s *story) roots(ts *testscript.TestScript) []message {
	var all, roots []message
	ts.Check(s.get("messages", url.Values{"channel": {channel}}, &all))
	for _, m := range all {
		if !m.Ephemeral && len(m.Blocks) > 0 && (m.ThreadTS == "" || m.ThreadTS == m.TS) {
			roots = append(roots, m)
		}
	}
	return roots
}

// root is the board of the newest run.
func (s *story) root(ts *testscript.TestScript) message {
	roots := s.roots(ts)
	if len(roots) == 0 {
		ts.Fatalf("there is no board in the channel")
	}
	return roots[len(roots)-1]
}

func (s *story) thread(root message) ([]message, error) {
	var all []message
	err := s.get("messages", url.Values{"channel": {channel}, "thread_ts": {root.TS}}, &all)
	return all, err
}

// sees LIMIT [board|thread|older] REGEXP: waits until the newest board, or its
// whole thread, can be read so. With ! it must never be so for LIMIT.
func (s *story) sees(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	want := regexp.MustCompile(args[2])
	last := ""
	begun := time.Now()
	look := func() error {
		roots := s.roots(ts)
		if len(roots) == 0 || roots[len(roots)-1].TS <= s.since && args[1] != "older" {
			return fmt.Errorf("no new board yet")
		}
		root := roots[len(roots)-1]
		if args[1] == "older" {
			if len(roots) < 2 {
				return fmt.Errorf("there is one board only")
			}
			root = roots[len(roots)-2]
		}
		msgs := []message{root}
		if args[1] == "thread" {
			if msgs, err = s.thread(root); err != nil {
				return err
			}
		}
		last = ""
		for _, m := range msgs {
			last += m.reading() + "\n---\n"
		}
		if !want.MatchString(last) {
			return fmt.Errorf("%s does not show %q", args[1], args[2])
		}
		return nil
	}
	err = poll(limit, look)
	switch {
	case neg && err == nil:
		ts.Fatalf("%s shows %q:\n%s", args[1], args[2], last)
	case !neg && err != nil:
		ts.Fatalf("%v; it reads:\n%s", err, last)
	case !neg:
		ts.Logf("seen after %s: %s", time.Since(begun).Round(10*time.Millisecond), args[2])
	}
}

// count N REGEXP: exactly N messages of the thread can be read so.
func (s *story) count(ts *testscript.TestScript, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	msgs, err := s.thread(s.root(ts))
	ts.Check(err)
	got := 0
	for _, m := range msgs {
		if regexp.MustCompile(args[1]).MatchString(m.reading()) {
			got++
		}
	}
	if got != n {
		ts.Fatalf("%d messages of the thread match %q, want %d", got, args[1], n)
	}
}

// order REGEXP…: in the thread, the first matches come in this order.
func (s *story) order(ts *testscript.TestScript, args []string) {
	msgs, err := s.thread(s.root(ts))
	ts.Check(err)
	var all strings.Builder
	for _, m := range msgs[1:] { // the board itself is edited, so it has no order
		all.WriteString(m.reading() + "\n---\n")
	}
	at := -1
	for _, a := range args {
		loc := regexp.MustCompile(a).FindStringIndex(all.String())
		if loc == nil {
			ts.Fatalf("the thread does not show %q:\n%s", a, all.String())
		}
		if loc[0] < at {
			ts.Fatalf("%q comes too early in:\n%s", a, all.String())
		}
		at = loc[0]
	}
}

// whisper LIMIT USER REGEXP: USER alone is shown this.
func (s *story) whisper(ts *testscript.TestScript, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	want := regexp.MustCompile(args[2])
	ts.Check(poll(limit, func() error {
		for _, thread := range []string{"", s.root(ts).TS} {
			var all []message
			if err := s.get("messages", url.Values{"channel": {channel}, "as": {args[1]}, "thread_ts": {thread}}, &all); err != nil {
				return err
			}
			for _, m := range all {
				if m.Ephemeral && want.MatchString(m.reading()) {
					return nil
				}
			}
		}
		return fmt.Errorf("%s is not shown %q", args[1], args[2])
	}))
}

// modal LIMIT USER REGEXP: a form is open for USER that can be read so.
func (s *story) modal(ts *testscript.TestScript, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	want := regexp.MustCompile(args[2])
	last := ""
	err = poll(limit, func() error {
		var views []struct {
			Blocks []json.RawMessage `json:"blocks"`
		}
		if err := s.get("views", url.Values{"user": {args[1]}}, &views); err != nil {
			return err
		}
		if len(views) == 0 {
			return fmt.Errorf("no view is open for %s", args[1])
		}
		last = message{Blocks: views[len(views)-1].Blocks}.reading()
		if !want.MatchString(last) {
			return fmt.Errorf("the view does not show %q", args[2])
		}
		return nil
	})
	if err != nil {
		ts.Fatalf("%v; it reads:\n%s", err, last)
	}
}

// polite MAX: the bot was never refused by Slack's rules, and made at most MAX
// posts and updates.
func (s *story) polite(ts *testscript.TestScript, args []string) {
	limit, err := strconv.Atoi(args[0])
	ts.Check(err)
	var calls []struct {
		Method string `json:"method"`
		Status int    `json:"status"`
		// Answer is an object for a method, and the bare word ok for an upload.
		Answer json.RawMessage `json:"answer"`
	}
	ts.Check(s.get("calls", url.Values{"limit": {"10000"}}, &calls))
	n := 0
	for _, c := range calls {
		if c.Method == "chat.postMessage" || c.Method == "chat.update" {
			n++
		}
		if strings.HasPrefix(c.Method, "chat.") && !strings.Contains(string(c.Answer), `"ok":true`) {
			ts.Fatalf("%s was refused: %d %s", c.Method, c.Status, c.Answer)
		}
	}
	ts.Logf("%d posts and updates", n)
	if n > limit {
		ts.Fatalf("%d posts and updates, want at most %d", n, limit)
	}
}
