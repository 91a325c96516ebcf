package k8s

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"labbot/scenarios/engine"
)

// wire stands between the bot and the API server, and can be cut or stopped up.
type wire struct {
	*testing.T
	address, to string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]struct{}
	stopped  chan struct{} // closed while data may pass
	wg       sync.WaitGroup
}

func newWire(t *testing.T, to string) *wire {
	w := &wire{T: t, to: to, address: "127.0.0.1:0", conns: map[net.Conn]struct{}{}, stopped: make(chan struct{})}
	close(w.stopped)
	w.mend()
	t.Cleanup(func() { w.unstop(); w.cut(); w.wg.Wait() })
	return w
}

// mend lets connections be made again, at the same address.
func (w *wire) mend() {
	w.Helper()
	l, err := net.Listen("tcp", w.address)
	if err != nil {
		w.Fatal(err)
	}
	w.mu.Lock()
	w.listener, w.address = l, l.Addr().String()
	w.mu.Unlock()
	w.wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", w.to)
			if err != nil {
				_ = near.Close()
				continue
			}
			w.mu.Lock()
			w.conns[near], w.conns[far] = struct{}{}, struct{}{}
			w.mu.Unlock()
			w.wg.Go(func() { w.carry(near, far) })
			w.wg.Go(func() { w.carry(far, near) })
		}
	})
}

func (w *wire) carry(to, from net.Conn) {
	defer func() { _ = to.Close(); _ = from.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		pass := w.stopped
		w.mu.Unlock()
		<-pass
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				w.Logf("wire: %v", err)
			}
			return
		}
	}
}

// cut ends all connections and refuses new ones.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.listener.Close()
	for c := range w.conns {
		_ = c.Close()
	}
	clear(w.conns)
}

// stop keeps the connections and lets nothing through.
func (w *wire) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = make(chan struct{})
}

func (w *wire) unstop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.stopped:
	default:
		close(w.stopped)
	}
}

// through reopens the bench's cluster behind a wire.
func (b *bench) through() *wire {
	b.Helper()
	config, err := clientcmd.LoadFromFile(b.kubeconfig)
	if err != nil {
		b.Fatal(err)
	}
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	server, err := url.Parse(cluster.Server)
	if err != nil {
		b.Fatal(err)
	}
	w := newWire(b.T, server.Host)
	cluster.TLSServerName, cluster.Server = server.Hostname(), "https://"+w.address
	path := filepath.Join(b.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		b.Fatal(err)
	}
	if b.bot, err = Open(Options{Kubeconfig: path, Version: "test"}); err != nil {
		b.Fatal(err)
	}
	return w
}

func TestOutageIsUnknownAndThenExact(t *testing.T) {
	b := newBench(t)
	w := b.through()
	b.must(b.createNamespace(), 20*time.Second)
	deploy := b.must(b.createWeb(), 10*time.Second)
	lens := b.watch(deployView, podsView)
	b.wait(20*time.Second, "the Pods", func() bool { return len(lens.Evidence().Objects["pods"].Items) == 2 })

	for name, outage := range map[string]struct{ begin, end func() }{
		"refused": {w.cut, w.mend}, "silent": {w.stop, w.unstop},
	} {
		before := time.Now()
		outage.begin()
		b.wait(15*time.Second, name+": the loss", func() bool { return !lens.Evidence().Stale.IsZero() })
		e := lens.Evidence()
		if r := e.Objects["deploy"]; r.Known || r.Object != nil || r.Err == "" {
			t.Errorf("%s: deploy = %+v, want unknown with the cause", name, r)
		}
		if e.Stale.After(time.Now()) || e.Stale.Before(before.Add(-5*time.Second)) {
			t.Errorf("%s: stale since %s, want about %s", name, e.Stale, before)
		}
		short, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		r := b.bot.Do(short, b.meta, engine.Intent{Kind: engine.ActSetImage, SetImage: &engine.SetImage{Target: b.web(deploy.UID), Image: "nginx:x"}})
		cancel()
		if r.Status != engine.ResultUnreachable || r.Message == "" {
			t.Errorf("%s: Do = %+v, want unreachable", name, r)
		}
		if err := b.bot.Ping(t.Context()); err == nil || strings.Contains(err.Error(), "Bearer") {
			t.Errorf("%s: Ping = %v", name, err)
		}
		// Meanwhile the class deletes a Pod, and the controller makes another.
		pods := b.admin.CoreV1().Pods(b.meta.Namespace)
		list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil || len(list.Items) == 0 {
			t.Fatalf("%s: list Pods: %v", name, err)
		}
		now := int64(0)
		if err := pods.Delete(t.Context(), list.Items[0].Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Fatal(err)
		}
		outage.end()
		b.wait(20*time.Second, name+": the return, with the Pods of now", func() bool {
			e := lens.Evidence()
			live, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
			if err != nil || !e.Stale.IsZero() || !e.Objects["deploy"].Known || len(e.Objects["pods"].Items) != len(live.Items) {
				return false
			}
			there := map[string]bool{}
			for _, p := range live.Items {
				there[string(p.UID)] = true
			}
			for _, p := range e.Objects["pods"].Items {
				if !there[field[string](p, "metadata", "uid")] {
					return false
				}
			}
			return !there[string(list.Items[0].UID)]
		})
		seen := map[string]bool{}
		for _, ev := range lens.Evidence().Events {
			if seen[ev.UID] {
				t.Errorf("%s: event %s twice", name, ev.UID)
			}
			seen[ev.UID] = true
		}
	}
}
