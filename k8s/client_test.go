package k8s

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labbot/bot/run"
	"labbot/scenarios/engine"
)

// kubeconfig writes one with a context "k8slab@lab" for the server, and a second
// whose credentials come from a program.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := `apiVersion: v1
kind: Config
current-context: k8slab@lab
clusters: [{name: lab, cluster: {server: "` + server + `"}}]
users:
- {name: k8slab, user: {token: planted-token}}
- {name: program, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/false, interactiveMode: Never}}}
contexts:
- {name: k8slab@lab, context: {cluster: lab, user: k8slab}}
- {name: program@lab, context: {cluster: lab, user: program}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serve answers as an API server would, path by path.
func serve(t *testing.T, answers map[string]http.HandlerFunc) *Cluster {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, h := range answers {
		mux.HandleFunc(pattern, h)
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c, err := Open(Options{Kubeconfig: kubeconfig(t, s.URL), Version: "v1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answer(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

const system = `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"sys-1"}}`

func TestIdentity(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes     http.HandlerFunc
		simulated bool
	}{
		"label":     {answer(200, `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"n","labels":{"labbot.dev/simulated":"true"}}}]}`), true},
		"runtime":   {answer(200, `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"n"},"status":{"nodeInfo":{"containerRuntimeVersion":"simulated://1.0"}}}]}`), true},
		"real":      {answer(200, `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"n"},"status":{"nodeInfo":{"containerRuntimeVersion":"containerd://2.1"}}}]}`), false},
		"forbidden": {answer(403, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, map[string]http.HandlerFunc{
				"/version":                       answer(200, `{"major":"1","minor":"37","gitVersion":"v1.37.2"}`),
				"/api/v1/namespaces/kube-system": answer(200, system),
				"/api/v1/nodes":                  tc.nodes,
			})
			id, err := c.Identity(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := run.Identity{Context: "k8slab@lab", Cluster: "lab", Server: c.clients.config.Host, Version: "v1.37.2", UID: "sys-1", Simulated: tc.simulated}
			if id != want {
				t.Errorf("Identity = %+v, want %+v", id, want)
			}
		})
	}
}

func TestRequestsNameTheBot(t *testing.T) {
	var agent atomic.Value
	c := serve(t, map[string]http.HandlerFunc{"/api/v1/namespaces/kube-system": func(w http.ResponseWriter, r *http.Request) {
		agent.Store(r.UserAgent())
		answer(200, system)(w, r)
	}})
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The API server takes the part before the slash for a field manager where
	// none is given, as in kubectl's rollback.
	if got := agent.Load(); got != "labbot/v1.2.3" {
		t.Errorf("user agent %q", got)
	}
}

func TestPing(t *testing.T) {
	t.Run("a refusal is an answer", func(t *testing.T) {
		c := serve(t, map[string]http.HandlerFunc{"/": answer(403, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)})
		if err := c.Ping(t.Context()); err != nil {
			t.Errorf("Ping = %v, want nil", err)
		}
	})
	t.Run("trouble inside the server", func(t *testing.T) {
		c := serve(t, map[string]http.HandlerFunc{"/": answer(500, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcdserver: no leader","code":500}`)})
		if err := c.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "etcdserver: no leader") {
			t.Errorf("Ping = %v, want the server's words", err)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		c, err := Open(Options{Kubeconfig: kubeconfig(t, "https://127.0.0.1:1")})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		err = c.Ping(t.Context())
		if err == nil || !strings.Contains(err.Error(), "https://127.0.0.1:1") || strings.Contains(err.Error(), "planted-token") {
			t.Errorf("Ping = %v, want the address and no token", err)
		}
		if d := time.Since(start); d > pingWithin+time.Second {
			t.Errorf("Ping took %s", d)
		}
		r := c.Do(t.Context(), run.Meta{Run: "r-1", Namespace: "k8s-m01", Expires: time.Now().Add(time.Hour)},
			engine.Intent{Kind: engine.ActCreateNamespace, CreateNamespace: &engine.CreateNamespace{Name: "k8s-m01"}})
		if r.Status != engine.ResultUnreachable || !strings.Contains(r.Message, "connection refused") {
			t.Errorf("Do = %+v, want unreachable", r)
		}
	})
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	path := kubeconfig(t, "https://127.0.0.1:1")
	for name, tc := range map[string]struct {
		o    Options
		want string
	}{
		"no file":            {Options{Kubeconfig: path + "-no"}, "read the kubeconfig"},
		"no such context":    {Options{Kubeconfig: path, Context: "prod"}, `has no context "prod"; it has: k8slab@lab, program@lab`},
		"program":            {Options{Kubeconfig: path, Context: "program@lab"}, `from the program "/bin/false", and no credential plugin is allowed`},
		"in-cluster outside": {Options{InCluster: true}, "service account"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Open = %v, want …%s…", err, tc.want)
			}
		})
	}
	t.Run("another program than allowed", func(t *testing.T) {
		c, err := Open(Options{Kubeconfig: path, Context: "program@lab", ExecPlugins: []string{"/bin/true"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "not permitted by the credential plugin allowlist") {
			t.Errorf("Ping = %v, want the program refused", err)
		}
	})
}

func TestShownHidesAPasswordInAnAddress(t *testing.T) {
	if got := shown("https://user:planted@lab.example:6443"); got != "https://lab.example:6443" {
		t.Errorf("shown = %q", got)
	}
}

func TestBoundClientEndsWithItsContext(t *testing.T) {
	c := serve(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	b, err := c.clients.bind(ctx)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err = b.AppsV1().Deployments("k8s-m01").Get(context.Background(), "web", metav1.GetOptions{})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("a request on a hanging server: %v after %s", err, time.Since(start))
	}
	if b.Trouble() == nil {
		t.Error("the trouble of the connection is not kept")
	}
}

func TestBoundClientDoesNotWaitPastItsContext(t *testing.T) {
	c := serve(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "60")
		answer(429, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`)(w, r)
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	b, err := c.clients.bind(ctx)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err = b.AppsV1().Deployments("k8s-m01").Get(context.Background(), "web", metav1.GetOptions{})
	if err == nil || time.Since(start) > 10*time.Second || b.Trouble() == nil {
		t.Errorf("told to wait a minute: %v after %s, trouble %v", err, time.Since(start), b.Trouble())
	}
}

func TestKinds(t *testing.T) {
	var asked atomic.Int64
	c := serve(t, map[string]http.HandlerFunc{
		"/apis/labbot.dev/v1": func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			answer(200, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"labbot.dev/v1","resources":[
				{"name":"gadgets/status","kind":"Gadget","namespaced":false,"verbs":["get"]},{"name":"gadgets","kind":"Gadget","namespaced":true,"verbs":["get"]}]}`)(w, r)
		},
		"/": answer(404, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`),
	})
	for name, tc := range map[string]struct {
		apiVersion, kind string
		want             schema.GroupVersionResource
		namespaced       bool
	}{
		"deployment":     {"apps/v1", "Deployment", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, true},
		"network policy": {"networking.k8s.io/v1", "NetworkPolicy", schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}, true},
		"ingress":        {"networking.k8s.io/v1", "Ingress", schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}, true},
		"endpoints":      {"v1", "Endpoints", schema.GroupVersionResource{Version: "v1", Resource: "endpoints"}, true},
		"namespace":      {"v1", "Namespace", schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, false},
		"custom":         {"labbot.dev/v1", "Gadget", schema.GroupVersionResource{Group: "labbot.dev", Version: "v1", Resource: "gadgets"}, true},
		"custom again":   {"labbot.dev/v1", "Gadget", schema.GroupVersionResource{Group: "labbot.dev", Version: "v1", Resource: "gadgets"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, namespaced, err := c.kinds.resolve(t.Context(), tc.apiVersion, tc.kind)
			if err != nil || got != tc.want || namespaced != tc.namespaced {
				t.Errorf("resolve = %s %t %v, want %s %t", got, namespaced, err, tc.want, tc.namespaced)
			}
		})
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times for one kind, want once", n)
	}
	for name, v := range map[string][2]string{"no such kind": {"labbot.dev/v1", "Widget"}, "no such group": {"x.dev/v1", "Widget"}, "nonsense": {"a/b/c", "D"}, "typo": {"apps/v1", "Deploymint"}} {
		if _, _, err := c.kinds.resolve(t.Context(), v[0], v[1]); err == nil {
			t.Errorf("%s: resolve(%s, %s) gave no error", name, v[0], v[1])
		}
	}
}
