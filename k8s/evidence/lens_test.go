package evidence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"labbot/scenarios/engine"
)

const lesson = "k8s-m01"

var (
	podsGVR       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	namespacesGVR = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	eventsGVR     = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// server is a fake API server that can be taken away.
type server struct {
	*dynamicfake.FakeDynamicClient
	Source

	mu       sync.Mutex
	down     error
	watchers map[string][]*watch.RaceFreeFakeWatcher
	probes   atomic.Int64
}

func newServer(objects ...runtime.Object) *server {
	s := &server{watchers: map[string][]*watch.RaceFreeFakeWatcher{}}
	s.FakeDynamicClient = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		podsGVR: "PodList", namespacesGVR: "NamespaceList", eventsGVR: "EventList",
	}, objects...)
	s.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		err := s.trouble()
		return err != nil, nil, err
	})
	s.PrependWatchReactor("*", s.watch)
	s.Source = Source{Dynamic: s, Pulse: NewPulse(func(context.Context) error { s.probes.Add(1); return s.trouble() }), Resolve: resolve}
	return s
}

func resolve(_ context.Context, apiVersion, kind string) (schema.GroupVersionResource, bool, error) {
	switch {
	case apiVersion == "v1" && kind == "Pod":
		return podsGVR, true, nil
	case apiVersion == "v1" && kind == "Namespace":
		return namespacesGVR, false, nil
	}
	return schema.GroupVersionResource{}, false, fmt.Errorf("the server knows no kind %s in %s", kind, apiVersion)
}

func (s *server) trouble() error { s.mu.Lock(); defer s.mu.Unlock(); return s.down }

// fail takes the server away with an error, or gives it back with nil. Open
// watches are cut, as they are when a server goes.
func (s *server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
	if err != nil {
		s.cut()
	}
}

func (s *server) cut() {
	for _, ws := range s.watchers {
		for _, w := range ws {
			w.Stop()
		}
	}
	clear(s.watchers)
}

func (s *server) watch(a clienttesting.Action) (bool, watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return true, nil, s.down
	}
	w := watch.NewRaceFreeFake()
	s.watchers[a.GetResource().Resource] = append(s.watchers[a.GetResource().Resource], w)
	return true, w, nil
}

// send gives a watch event to all who watch the resource.
func (s *server) send(resource string, kind watch.EventType, obj runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watchers[resource] {
		if !w.IsStopped() {
			w.Action(kind, obj)
		}
	}
}

var born = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

// pod of the lesson, created so many seconds after the first.
func pod(name string, after int, labels map[string]string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
	u.SetNamespace(lesson)
	u.SetName(name)
	u.SetUID(types.UID("uid-" + name))
	u.SetResourceVersion(fmt.Sprint(100 + after))
	u.SetLabels(labels)
	u.SetCreationTimestamp(metav1.NewTime(born.Add(time.Duration(after) * time.Second)))
	return u
}

var web = map[string]string{"app": "web"}

var (
	allWeb   = engine.Watch{As: "pods", APIVersion: "v1", Kind: "Pod", Selector: "app=web", List: true}
	oneNamed = engine.Watch{As: "first", APIVersion: "v1", Kind: "Pod", Name: "web-a"}
	absent   = engine.Watch{As: "absent", APIVersion: "v1", Kind: "Pod", Name: "no-such"}
)

// open a Lens that closes with the test and counts its notifications.
func open(t *testing.T, s *server, watches ...engine.Watch) (*Lens, *atomic.Int64) {
	t.Helper()
	var told atomic.Int64
	l, err := Open(t.Context(), s.Source, lesson, watches, func() { told.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	return l, &told
}

func names(items []map[string]any) []string {
	var all []string
	for _, i := range items {
		all = append(all, (&unstructured.Unstructured{Object: i}).GetName())
	}
	return all
}

func TestReadingsShowWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(pod("web-b", 5, web), pod("web-a", 5, web), pod("web-z", 0, web), pod("other", 1, nil))
		l, _ := open(t, s, allWeb, oneNamed, absent)
		defer l.Close()
		synctest.Wait()
		e := l.Evidence()
		if diff := cmp.Diff([]string{"web-z", "web-a", "web-b"}, names(e.Objects["pods"].Items)); diff != "" {
			t.Errorf("items by creation, then name (-want +got):\n%s", diff)
		}
		for _, as := range []string{"pods", "first", "absent"} {
			if r := e.Objects[as]; !r.Known || r.Err != "" || r.List != (as == "pods") {
				t.Errorf("%s = %+v, want it known", as, r)
			}
		}
		if o := e.Objects["absent"].Object; o != nil {
			t.Errorf("an object that is not there reads %v", o)
		}
		for _, o := range append(e.Objects["pods"].Items, e.Objects["first"].Object) {
			if o["apiVersion"] != "v1" || o["kind"] != "Pod" {
				t.Errorf("object without its kind: %v", o)
			}
		}
		if !e.Stale.IsZero() {
			t.Errorf("stale since %s while the server answers", e.Stale)
		}
		// The value belongs to the caller: changing it does not reach the next.
		e.Objects["first"].Object["metadata"].(map[string]any)["name"] = "changed"
		if got := names([]map[string]any{l.Evidence().Objects["first"].Object}); got[0] != "web-a" {
			t.Errorf("a change of one snapshot shows in the next: %v", got)
		}
	})
}

func TestOneWatchServesAllViewsOfAKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		ns := engine.Watch{As: "ns", APIVersion: "v1", Kind: "Namespace", Name: lesson}
		l, _ := open(t, s, allWeb, oneNamed, absent, ns)
		defer l.Close()
		synctest.Wait()
		lists := map[string]int{}
		for _, a := range s.Actions() {
			if list, ok := a.(clienttesting.ListAction); ok {
				lists[a.GetResource().Resource+" "+a.GetNamespace()+" "+list.GetListRestrictions().Fields.String()]++
			}
		}
		want := map[string]int{"pods k8s-m01 ": 1, "events k8s-m01 ": 1, "namespaces  metadata.name=k8s-m01": 1}
		if diff := cmp.Diff(want, lists); diff != "" {
			t.Errorf("lists (-want +got):\n%s", diff)
		}
	})
}

func TestNothingIsKnownBeforeTheFirstList(t *testing.T) {
	v := view{Watch: allWeb, selector: labels.Everything(), store: newObjectStore(func() {}), feed: &feed{health: &health{}}, namespace: lesson}
	if r := v.reading(time.Now(), ""); r.Known || r.Err != "the first list is not in yet" || !r.List {
		t.Errorf("before any answer: %+v", r)
	}
	v.feed.health.saw(t.Context(), errors.New("pods is forbidden"))
	if r := v.reading(time.Now(), ""); r.Known || r.Err != "pods is forbidden" {
		t.Errorf("after a first answer that is an error: %+v", r)
	}
	v.feed.health.saw(t.Context(), nil)
	if err := v.store.Replace([]any{pod("web-a", 0, web)}, "1"); err != nil {
		t.Fatal(err)
	}
	if r := v.reading(time.Now(), ""); !r.Known || len(r.Items) != 1 {
		t.Errorf("after the first list: %+v", r)
	}
}

func TestChangesAreToldOnceForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		var told, inside, most atomic.Int64
		l, err := Open(t.Context(), s.Source, lesson, []engine.Watch{allWeb}, func() {
			told.Add(1)
			most.Store(max(most.Load(), inside.Add(1)))
			time.Sleep(10 * time.Millisecond) // inside the bubble: a slow listener
			inside.Add(-1)
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		before := told.Load()
		for i := range 50 {
			s.send("pods", watch.Added, pod(fmt.Sprintf("web-%d", i), i, web))
		}
		time.Sleep(time.Second)
		if n := told.Load() - before; n < 1 || n > 3 {
			t.Errorf("50 changes at once were told %d times, want 1 to 3", n)
		}
		before = told.Load()
		s.send("pods", watch.Modified, pod("web-1", 1, web)) // the same version again
		time.Sleep(time.Second)
		if told.Load() != before {
			t.Error("an object that did not change was told")
		}
		s.send("pods", watch.Deleted, pod("web-1", 1, web))
		time.Sleep(time.Second)
		if told.Load() != before+1 {
			t.Errorf("a deletion was told %d times, want once", told.Load()-before)
		}
		l.Close()
		if most.Load() != 1 {
			t.Errorf("%d notifications at the same time, want one after another", most.Load())
		}
		if n := len(l.Evidence().Objects["pods"].Items); n != 49 {
			t.Errorf("%d Pods after 50 made and one deleted, want 49", n)
		}
	})
}

func TestSilenceMakesReadingsUnknownUntilTheServerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(pod("web-a", 0, web))
		l, told := open(t, s, allWeb)
		defer l.Close()
		time.Sleep(10 * time.Second)
		s.fail(errors.New("connection refused"))
		lost := time.Now()
		time.Sleep(2 * time.Second)
		if e := l.Evidence(); !e.Objects["pods"].Known || !e.Stale.IsZero() {
			t.Errorf("after 2 s of silence: %+v, want it still known", e)
		}
		before := told.Load()
		time.Sleep(58 * time.Second)
		e := l.Evidence()
		if r := e.Objects["pods"]; r.Known || len(r.Items) > 0 || !strings.Contains(r.Err, "connection refused") {
			t.Errorf("after a minute of silence: %+v, want unknown with the cause", r)
		}
		if d := e.Stale.Sub(lost).Abs(); e.Stale.IsZero() || d > beat {
			t.Errorf("stale since %s, want within %s of %s", e.Stale, beat, lost)
		}
		if told.Load() == before {
			t.Error("the loss was not told")
		}
		s.fail(nil)
		time.Sleep(5 * time.Second)
		if e := l.Evidence(); !e.Objects["pods"].Known || !e.Stale.IsZero() || len(e.Objects["pods"].Items) != 1 {
			t.Errorf("5 s after the return: %+v, want it known again", e)
		}
	})
}

func TestAServerThatHangsIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		var hang atomic.Bool
		s.Pulse = NewPulse(func(ctx context.Context) error {
			if hang.Load() {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		l, _ := open(t, s, allWeb)
		defer l.Close()
		time.Sleep(10 * time.Second)
		hang.Store(true)
		time.Sleep(10 * time.Second)
		if e := l.Evidence(); e.Stale.IsZero() || e.Objects["pods"].Known {
			t.Errorf("with a hanging server: %+v, want stale and unknown", e)
		}
	})
}

func TestAWatchThatIsRefusedMakesItsKindUnknownAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("pods is forbidden")
		})
		ns := engine.Watch{As: "ns", APIVersion: "v1", Kind: "Namespace", Name: lesson}
		l, _ := open(t, s, allWeb, ns)
		defer l.Close()
		time.Sleep(10 * time.Second)
		e := l.Evidence()
		if r := e.Objects["pods"]; r.Known || !strings.Contains(r.Err, "forbidden") {
			t.Errorf("pods = %+v, want unknown with the refusal", r)
		}
		if r := e.Objects["ns"]; !r.Known || !e.Stale.IsZero() {
			t.Errorf("ns = %+v, stale %s; want it known", r, e.Stale)
		}
	})
}

func TestAnExpiredWatchNeitherLosesNorRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(pod("web-a", 0, web), pod("web-b", 1, web), event("Pulling.18c0a", "e1", 1))
		l, _ := open(t, s, allWeb)
		defer l.Close()
		time.Sleep(time.Second)
		// What happens while the watch is dead is seen only by the new list.
		pods := s.Resource(podsGVR).Namespace(lesson)
		if err := pods.Delete(t.Context(), "web-a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := pods.Create(t.Context(), pod("web-c", 2, web), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Resource(eventsGVR).Namespace(lesson).Create(t.Context(), event("Failed.18c0b", "e2", 2), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		gone := &metav1.Status{Status: "Failure", Code: 410, Reason: metav1.StatusReasonExpired, Message: "too old resource version"}
		s.send("pods", watch.Error, gone)
		s.send("events", watch.Error, gone)
		time.Sleep(5 * time.Second)
		e := l.Evidence()
		if diff := cmp.Diff([]string{"web-b", "web-c"}, names(e.Objects["pods"].Items)); diff != "" || !e.Objects["pods"].Known {
			t.Errorf("after the new list (-want +got):\n%s", diff)
		}
		var reasons []string
		for _, ev := range e.Events {
			reasons = append(reasons, ev.Reason)
		}
		if diff := cmp.Diff([]string{"Pulling", "Failed"}, reasons); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestLensesShareOnePulseAndEndIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a, _ := open(t, s, allWeb)
		b, _ := open(t, s, allWeb)
		time.Sleep(10*time.Second + beat/2)
		if n := s.probes.Load(); n < 10 || n > 12 {
			t.Errorf("%d questions in 10.5 s for two lenses, want one a second", n)
		}
		a.Close()
		b.Close()
		before := s.probes.Load()
		time.Sleep(time.Minute)
		if s.probes.Load() != before {
			t.Error("the pulse goes on without a lens")
		}
		// synctest fails the test if any goroutine of the lenses is left here.
		c, _ := open(t, s, allWeb)
		time.Sleep(time.Second)
		if r := c.Evidence().Objects["pods"]; !r.Known {
			t.Errorf("a lens after a pause: %+v, want it known", r)
		}
		c.Close()
	})
}

func TestCloseEndsAWatchOnADeadServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.fail(errors.New("connection refused"))
		l, _ := open(t, s, allWeb)
		time.Sleep(5 * time.Minute)
		start := time.Now()
		l.Close()
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("Close took %s", d)
		}
	})
}

func TestTheContextOfOpenDoesNotEndTheWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		ctx, cancel := context.WithCancel(t.Context())
		l, err := Open(ctx, s.Source, lesson, []engine.Watch{allWeb}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		cancel()
		time.Sleep(time.Second)
		s.send("pods", watch.Added, pod("web-a", 0, web))
		time.Sleep(time.Second)
		if got := l.Evidence().Objects["pods"]; len(got.Items) != 1 {
			t.Errorf("pods = %+v, want the one that came later", got)
		}
	})
}

func TestAWatchThatCannotBeMadeIsAnError(t *testing.T) {
	for want, w := range map[string]engine.Watch{
		"want a name, or list: true": {As: "x", APIVersion: "v1", Kind: "Pod"},
		"does not read Secrets":      {As: "x", APIVersion: "v1", Kind: "Secret", List: true},
		`selector "a=(b"`:            {As: "x", APIVersion: "v1", Kind: "Pod", List: true, Selector: "a=(b"},
		"knows no kind Gadget":       {As: "x", APIVersion: "v1", Kind: "Gadget", List: true},
	} {
		if _, err := Open(t.Context(), newServer().Source, lesson, []engine.Watch{w}, func() {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open = %v, want …%s…", err, want)
		}
	}
}

func TestTrimKeepsTheWritersAndDropsTheirFields(t *testing.T) {
	u := pod("web-a", 0, web)
	u.SetAnnotations(map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": "{}", "big": strings.Repeat("x", bigAnnotation+1), "deployment.kubernetes.io/revision": "2",
	})
	at := metav1.NewTime(born)
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "kubectl-rollout", Operation: "Update", APIVersion: "apps/v1", Subresource: "status", Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`),
	}})
	trim(u)
	want := []any{map[string]any{"manager": "kubectl-rollout", "operation": "Update", "apiVersion": "apps/v1", "subresource": "status", "time": "2026-05-04T09:00:00Z"}}
	if diff := cmp.Diff(want, u.Object["metadata"].(map[string]any)["managedFields"]); diff != "" {
		t.Errorf("managedFields (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"deployment.kubernetes.io/revision": "2"}, u.GetAnnotations()); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	trim(&unstructured.Unstructured{Object: map[string]any{}}) // an object without metadata is left alone
}
