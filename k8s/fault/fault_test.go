package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"labbot/scenarios/engine"
)

const (
	lesson = "k8s-m01"
	nsUID  = types.UID("ns-1")
)

var owner = Owner{
	Run: "r-7k2mq4xa", Cohort: "cohort of May", Scenario: "break-image", Namespace: lesson,
	Expires: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC),
}

// namespace of the run, as createNamespace leaves it.
func namespace(change ...func(*corev1.Namespace)) *corev1.Namespace {
	ns, err := namespaceFor(owner)
	if err != nil {
		panic(err)
	}
	ns.UID, ns.Status.Phase = nsUID, corev1.NamespaceActive
	for _, f := range change {
		f(ns)
	}
	return ns
}

func foreign(ns *corev1.Namespace)  { ns.Labels, ns.Annotations = nil, nil }
func otherRun(ns *corev1.Namespace) { ns.Labels[LabelRun] = "r-00000000" }
func terminating(ns *corev1.Namespace) {
	now := metav1.Now()
	ns.DeletionTimestamp, ns.Finalizers, ns.Status.Phase = &now, []string{"x/y"}, corev1.NamespaceTerminating
	ns.Status.Conditions = []corev1.NamespaceCondition{
		{Type: corev1.NamespaceContentRemaining, Status: corev1.ConditionTrue, Message: "Some resources are remaining: pods. has 2 resource instances"},
		{Type: corev1.NamespaceFinalizersRemaining, Status: corev1.ConditionFalse, Message: "not this"},
	}
}

func account() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: lesson, Name: "default"}}
}

// api is a fake API server with an Executor on it.
type api struct {
	*Executor
	fake *fake.Clientset
}

func newAPI(objects ...runtime.Object) *api {
	c := fake.NewClientset(objects...)
	var copies []runtime.Object
	for _, o := range objects {
		copies = append(copies, o.DeepCopyObject())
	}
	a := &api{fake: c, Executor: &Executor{
		Typed:   c,
		Dynamic: dynamicfake.NewSimpleDynamicClient(scheme.Scheme, copies...),
		Resolve: func(_ context.Context, apiVersion, kind string) (schema.GroupVersionResource, bool, error) {
			gvr, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(apiVersion, kind))
			return gvr, kind != "Namespace" && kind != "ClusterRole" && kind != "Node", nil
		},
		Bind: func(context.Context) (Bound, error) {
			return Bound{Interface: c, Trouble: func() error { return nil }}, nil
		},
	}}
	return a
}

// on answers a verb on a resource with an error, for the first n times.
func (a *api) on(verb, resource string, n int, err error) {
	a.fake.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		if n == 0 {
			return false, nil, nil
		}
		n--
		return true, nil, err
	})
}

// writes lists what was sent besides reads.
func (a *api) writes() []string {
	var w []string
	for _, act := range a.fake.Actions() {
		if !slices.Contains([]string{"get", "list", "watch"}, act.GetVerb()) {
			w = append(w, fmt.Sprintf("%s %s in %q", act.GetVerb(), act.GetResource().Resource, act.GetNamespace()))
		}
	}
	return w
}

// the intents, each aimed at the namespace given.
func intents(ns string) map[string]engine.Intent {
	ref := func(kind, version, name string) engine.Ref {
		return engine.Ref{APIVersion: version, Kind: kind, Namespace: ns, Name: name, UID: "u"}
	}
	return map[string]engine.Intent{
		"createNamespace": {Kind: engine.ActCreateNamespace, CreateNamespace: &engine.CreateNamespace{Name: ns}},
		"setImage":        {Kind: engine.ActSetImage, SetImage: &engine.SetImage{Target: ref("Deployment", "apps/v1", "web"), Image: "nginx:x"}},
		"deletePod":       {Kind: engine.ActDeletePod, DeletePod: &engine.DeletePod{Target: ref("Pod", "v1", "web-1")}},
		"undo":            {Kind: engine.ActUndo, Undo: &engine.Undo{Target: ref("Deployment", "apps/v1", "web"), Template: map[string]any{"spec": map[string]any{}}}},
		"deleteNamespace": {Kind: engine.ActDeleteNamespace, DeleteNamespace: &engine.DeleteNamespace{Name: ns, UID: "u"}},
		"get":             {Kind: engine.ActGet, Get: &engine.Get{Target: engine.Ref{APIVersion: "v1", Kind: "Namespace", Name: ns}}},
	}
}

func TestNothingIsWrittenOutsideTheRunsNamespace(t *testing.T) {
	for _, ns := range []string{"kube-system", "kube-public", "kube-node-lease", "default", "", "prod", "labbot-system", "k8s-m02", "K8S-m01", "k8s-"} {
		for name, in := range intents(ns) {
			t.Run(name+" in "+ns, func(t *testing.T) {
				// Even a namespace that carries the run's labels is refused by its name.
				a := newAPI(namespace(func(n *corev1.Namespace) { n.Name, n.UID = ns, "u" }))
				r := a.Do(t.Context(), owner, in)
				if r.Status != engine.ResultFailed || r.Reason != engine.ReasonNotOurs {
					t.Errorf("Do = %s %s (%s), want failed NotOurs", r.Status, r.Reason, r.Message)
				}
				if w := a.writes(); len(w) > 0 {
					t.Errorf("it wrote: %v", w)
				}
			})
		}
		t.Run("as the run's own namespace "+ns, func(t *testing.T) {
			if ns == "k8s-m02" {
				t.Skip("a good name")
			}
			wrong := owner
			wrong.Namespace = ns
			all := intents(ns)
			all["createDeployment"] = engine.Intent{Kind: engine.ActCreateDeployment, CreateDeployment: &engine.CreateDeployment{Name: "web", Image: "nginx"}}
			delete(all, "get") // a read, confined to the run's own namespace
			for name, in := range all {
				a := newAPI(namespace(func(n *corev1.Namespace) { n.Name, n.UID = ns, "u" }))
				if r := a.Do(t.Context(), wrong, in); r.Reason != engine.ReasonNotOurs || len(a.writes()) > 0 {
					t.Errorf("%s = %s %q, writes %v; want NotOurs and none", name, r.Status, r.Reason, a.writes())
				}
			}
		})
	}
}

func TestNothingIsWrittenWithoutTheRunsLabels(t *testing.T) {
	all := intents(lesson)
	all["createDeployment"] = engine.Intent{Kind: engine.ActCreateDeployment, CreateDeployment: &engine.CreateDeployment{Name: "web", Image: "nginx", Replicas: 1}}
	delete(all, "get") // the proof of cleanup may look at whatever is there
	for owned, change := range map[string]func(*corev1.Namespace){
		"no labels": foreign, "another run": otherRun,
		"not marked owned": func(n *corev1.Namespace) { n.Labels[LabelOwned] = "false" },
		"no run label":     func(n *corev1.Namespace) { delete(n.Labels, LabelRun) },
	} {
		for name, in := range all {
			t.Run(name+", "+owned, func(t *testing.T) {
				ns := namespace(change, func(n *corev1.Namespace) { n.UID = "u" })
				a := newAPI(ns, deployment(), account())
				r := a.Do(t.Context(), owner, in)
				if r.Status != engine.ResultFailed || r.Reason != engine.ReasonNotOurs || !strings.Contains(r.Message, "nothing was touched") {
					t.Errorf("Do = %s %s (%s), want failed NotOurs", r.Status, r.Reason, r.Message)
				}
				w := a.writes()
				if name == "createNamespace" { // asking to create what exists changes nothing
					w = slices.DeleteFunc(w, func(s string) bool { return strings.HasPrefix(s, "create namespaces") })
				}
				if len(w) > 0 {
					t.Errorf("it wrote: %v", w)
				}
			})
		}
	}
	t.Run("a run without an id owns nothing", func(t *testing.T) {
		nobody := owner
		nobody.Run = ""
		a := newAPI(namespace(func(n *corev1.Namespace) { n.Labels[LabelRun] = "" }), deployment())
		if r := a.Do(t.Context(), nobody, all["setImage"]); r.Reason != engine.ReasonNotOurs || len(a.writes()) > 0 {
			t.Errorf("Do = %+v, writes %v", r, a.writes())
		}
	})
}

func TestTroubleOfTheServerIsUnreachable(t *testing.T) {
	gr := schema.GroupResource{Resource: "namespaces"}
	for name, tc := range map[string]struct {
		err  error
		want engine.ResultStatus
	}{
		"connection refused": {errors.New("dial tcp 127.0.0.1:1: connect: connection refused"), engine.ResultUnreachable},
		"deadline":           {fmt.Errorf("get: %w", context.DeadlineExceeded), engine.ResultUnreachable},
		"too many requests":  {apierrors.NewTooManyRequests("slow down", 1), engine.ResultUnreachable},
		"internal":           {apierrors.NewInternalError(errors.New("etcd")), engine.ResultUnreachable},
		"unavailable":        {apierrors.NewServiceUnavailable("starting"), engine.ResultUnreachable},
		"server timeout":     {apierrors.NewServerTimeout(gr, "get", 1), engine.ResultUnreachable},
		"forbidden":          {apierrors.NewForbidden(gr, lesson, errors.New("no")), engine.ResultFailed},
		"not found":          {apierrors.NewNotFound(gr, lesson), engine.ResultFailed},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(namespace(), deployment())
			a.on("get", "namespaces", 1, tc.err)
			r := a.Do(t.Context(), owner, intents(lesson)["setImage"])
			if r.Status != tc.want || !strings.Contains(r.Message, tc.err.Error()) {
				t.Errorf("Do = %s %q, want %s with %q", r.Status, r.Message, tc.want, tc.err)
			}
			if want := reason(tc.err); r.Reason != want {
				t.Errorf("reason %q, want the API's own %q", r.Reason, want)
			}
		})
	}
}

func TestDoEndsWithItsContext(t *testing.T) {
	a := newAPI(namespace())
	seen := make(chan bool, 1)
	a.Resolve = func(ctx context.Context, _, _ string) (schema.GroupVersionResource, bool, error) {
		end, ok := ctx.Deadline()
		seen <- ok && time.Until(end) <= 15*time.Second
		<-ctx.Done()
		return schema.GroupVersionResource{}, false, ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := a.Do(ctx, owner, intents(lesson)["get"]); r.Status != engine.ResultUnreachable {
		t.Errorf("Do on an ended context = %s, want unreachable", r.Status)
	}
	if !<-seen {
		t.Error("the attempt had no deadline within 15 s")
	}
}

func TestAnIntentThatIsNoActionIsRefused(t *testing.T) {
	for _, in := range []engine.Intent{{Kind: engine.ActDescribe, Report: &engine.Report{}}, {Kind: engine.ActUndo}, {Kind: "nonsense"}} {
		if r := newAPI(namespace()).Do(t.Context(), owner, in); r.Status != engine.ResultFailed || !strings.Contains(r.Message, string(in.Kind)) {
			t.Errorf("Do(%s) = %s %q", in.Kind, r.Status, r.Message)
		}
	}
}

// deployment is `web` of the run after the controller has seen it: revision 1.
func deployment(change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d, err := deploymentFor(lesson, engine.CreateDeployment{Name: "web", Image: "nginx:1.29-alpine", Replicas: 2})
	if err != nil {
		panic(err)
	}
	d.UID, d.ResourceVersion, d.Generation = "u", "7", 1
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
	for _, f := range change {
		f(d)
	}
	return d
}
