package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

type storyKey struct{}

// story is one script under way.
type story struct {
	bot, kubeconfig, dir string
	vars                 *testscript.Env

	demo          *exec.Cmd
	log           *os.File
	base          string // URL of the workspace
	redis         *exec.Cmd
	url           string // of Redis
	botKubeconfig string // the bot's, when it differs
	proxy         *proxy // between the bot and the API server, if the story has one
	since         string // ts of the newest board before the last command
}

const channel = "k8s-fundamentals"

// commands are the verbs of a script beside testscript's own.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"redis":    func(ts *testscript.TestScript, _ bool, args []string) { of(ts).doRedis(ts, args) },
	"demo":     func(ts *testscript.TestScript, _ bool, args []string) { of(ts).start(ts, args) },
	"end-demo": func(ts *testscript.TestScript, _ bool, args []string) { of(ts).stopDemo(ts, args) },
	"lab":      func(ts *testscript.TestScript, neg bool, args []string) { of(ts).lab(ts, neg, args) },
	"say":      func(ts *testscript.TestScript, _ bool, args []string) { of(ts).say(ts, args) },
	"press":    func(ts *testscript.TestScript, neg bool, args []string) { of(ts).press(ts, neg, args) },
	"sees":     func(ts *testscript.TestScript, neg bool, args []string) { of(ts).sees(ts, neg, args) },
	"count":    func(ts *testscript.TestScript, _ bool, args []string) { of(ts).count(ts, args) },
	"order":    func(ts *testscript.TestScript, _ bool, args []string) { of(ts).order(ts, args) },
	"whisper":  func(ts *testscript.TestScript, _ bool, args []string) { of(ts).whisper(ts, args) },
	"modal":    func(ts *testscript.TestScript, _ bool, args []string) { of(ts).modal(ts, args) },
	"polite":   func(ts *testscript.TestScript, _ bool, args []string) { of(ts).polite(ts, args) },
	"proxy":    func(ts *testscript.TestScript, _ bool, args []string) { of(ts).doProxy(ts, args) },
	"until":    until,
}

func of(ts *testscript.TestScript) *story { return ts.Value(storyKey{}).(*story) }

func freePort(ts *testscript.TestScript) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	defer ln.Close()
	return ln.Addr().String()
}

// doRedis starts or kills a redis-server of the story's own.
func (s *story) doRedis(ts *testscript.TestScript, args []string) {
	switch args[0] {
	case "start":
		if s.url == "" {
			s.url = "redis://" + freePort(ts) + "/0"
		}
		u, err := url.Parse(s.url)
		ts.Check(err)
		dir := filepath.Join(s.dir, "redis")
		ts.Check(os.MkdirAll(dir, 0o755))
		s.redis = exec.Command("redis-server", "--bind", "127.0.0.1", "--port", u.Port(), "--dir", dir,
			"--save", "", "--appendonly", "yes", "--maxmemory-policy", "noeviction")
		ts.Check(s.redis.Start())
		ts.Check(poll(10*time.Second, func() error {
			c, err := net.Dial("tcp", u.Host)
			if err == nil {
				c.Close()
			}
			return err
		}))
	case "kill":
		ts.Check(s.redis.Process.Kill())
		_ = s.redis.Wait()
		s.redis = nil
	default:
		ts.Fatalf("usage: redis start|kill")
	}
}

// start runs `labbot demo` on the shared cluster and waits until it is connected.
func (s *story) start(ts *testscript.TestScript, args []string) {
	addr := freePort(ts)
	s.base = "http://" + addr
	ts.Setenv("ADDR", addr)
	all := []string{"demo", "--addr", addr, "--no-browser", "--data", filepath.Join(s.dir, "data")}
	if !strings.Contains(strings.Join(args, " "), "--kubeconfig") {
		all = append(all, "--kubeconfig", cmp.Or(s.botKubeconfig, s.kubeconfig), "--yes-this-context", "k8slab@lab")
	}
	if s.url != "" {
		all = append(all, "--redis", s.url)
	}
	s.demo = exec.Command(s.bot, append(all, args...)...)
	log, err := os.OpenFile(filepath.Join(s.dir, "demo.out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	ts.Check(err)
	s.log = log
	s.demo.Stdout, s.demo.Stderr = log, log
	ts.Check(s.demo.Start())
	ts.Check(poll(90*time.Second, func() error {
		var h struct {
			Connected bool `json:"app_connected"`
		}
		if err := s.get("health", nil, &h); err != nil {
			return err
		}
		if !h.Connected {
			return fmt.Errorf("the bot is not connected")
		}
		return nil
	}))
}

// stopDemo ends the demo as Ctrl+C does, or with `kill` as a power cut does.
func (s *story) stopDemo(ts *testscript.TestScript, args []string) {
	if len(args) > 0 && args[0] == "kill" {
		ts.Check(s.demo.Process.Kill())
		_ = s.demo.Wait()
		s.demo = nil
		return
	}
	ts.Check(s.demo.Process.Signal(syscall.SIGINT))
	done := make(chan error, 1)
	go func() { done <- s.demo.Wait() }()
	select {
	case err := <-done:
		ts.Check(err)
		s.demo = nil
	case <-time.After(30 * time.Second):
		ts.Fatalf("demo did not stop within 30 s of SIGINT")
	}
}

func (s *story) end() {
	if s.demo != nil {
		_ = s.demo.Process.Signal(syscall.SIGINT)
		timer := time.AfterFunc(30*time.Second, func() { _ = s.demo.Process.Kill() })
		_ = s.demo.Wait()
		timer.Stop()
	}
	if s.redis != nil {
		_ = s.redis.Process.Kill()
		_ = s.redis.Wait()
	}
	if s.proxy != nil {
		s.proxy.cut()
	}
	keepLog(s.dir)
	wipe(s.kubeconfig)
}

// keepLog shows the bot's log of a story that failed: testscript prints what is
// on standard error.
func keepLog(dir string) {
	if out := os.Getenv("LABBOT_E2E_LOGS"); out != "" {
		_ = os.MkdirAll(out, 0o755)
		for _, f := range []string{"demo.out", "data/labbot.log"} {
			raw, err := os.ReadFile(filepath.Join(dir, f))
			if err == nil {
				_ = os.WriteFile(filepath.Join(out, filepath.Base(filepath.Dir(dir+"/"))+"-"+filepath.Base(f)), raw, 0o644)
			}
		}
	}
}

// wipe removes the module's namespace, so that the next story begins clean
// whatever this one left.
func wipe(kubeconfig string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	self, err := exec.LookPath("kubectl")
	if err != nil {
		return
	}
	c := exec.CommandContext(ctx, self, "delete", "namespace", "k8s-m01", "--ignore-not-found", "--wait=true")
	c.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	_ = c.Run()
}

func poll(limit time.Duration, ok func() error) error {
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ok()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s: %w", limit, err)
		}
		<-tick.C
	}
}

var client = &http.Client{Timeout: 10 * time.Second}

func (s *story) get(path string, q url.Values, into any) error {
	resp, err := client.Get(s.base + "/_workspace/" + path + "?" + q.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %s", path, resp.Status, raw)
	}
	return json.Unmarshal(raw, into)
}

func (s *story) post(path string, body any) (answer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	resp, err := client.Post(s.base+"/_workspace/"+path, "application/json", bytes.NewReader(raw))
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	var a answer
	err = json.NewDecoder(resp.Body).Decode(&a)
	return a, err
}

type answer struct {
	OK     bool            `json:"ok"`
	Error  string          `json:"error"`
	Detail string          `json:"detail"`
	Ack    json.RawMessage `json:"ack"`
	TS     string          `json:"ts"`
}

// message is a message as the workspace shows it.
type message struct {
	TS       string            `json:"ts"`
	ThreadTS string            `json:"thread_ts"`
	User     string            `json:"user"`
	Text     string            `json:"text"`
	Blocks   []json.RawMessage `json:"blocks"`
	Files    []struct {
		Name    string `json:"name"`
		Preview string `json:"preview"`
	} `json:"files"`
	Ephemeral bool `json:"ephemeral"`
	Edits     int  `json:"edits"`
}

var blockText = regexp.MustCompile(`"text":"((?:[^"\\]|\\.)*)"`)

// reading is all that a person can read of a message.
func (m message) reading() string {
	var b strings.Builder
	b.WriteString(m.Text)
	for _, raw := range m.Blocks {
		for _, t := range blockText.FindAllSubmatch(raw, -1) {
			var s string
			if json.Unmarshal([]byte(`"`+string(t[1])+`"`), &s) == nil {
				b.WriteString("\n" + s)
			}
		}
	}
	for _, f := range m.Files {
		b.WriteString("\n" + f.Name + "\n" + f.Preview)
	}
	return b.String()
}

func until(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	deadline := time.Now().Add(limit)
	for {
		err := ts.Exec(args[1], args[2:]...)
		if (err == nil) != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("after %s: %s: %v", limit, strings.Join(args[1:], " "), err)
		}
	}
}
