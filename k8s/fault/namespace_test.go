package fault

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"labbot/scenarios/engine"
)

func TestCreateNamespace(t *testing.T) {
	for name, tc := range map[string]struct {
		there   []runtime.Object
		status  engine.ResultStatus
		reason  string
		message string
		uid     string
	}{
		"new, account not there yet": {nil, engine.ResultPending, "", `ServiceAccount "default" is not yet`, ""},
		"new, with account":          {[]runtime.Object{account()}, engine.ResultDone, "", "created", ""},
		"ours":                       {[]runtime.Object{namespace(), account()}, engine.ResultDone, "", "there already, made by this run", "ns-1"},
		"ours, account not there":    {[]runtime.Object{namespace()}, engine.ResultPending, "", "ServiceAccount", "ns-1"},
		"foreign":                    {[]runtime.Object{namespace(foreign), account()}, engine.ResultFailed, engine.ReasonNotOurs, "was not made by labbot", ""},
		"another run's":              {[]runtime.Object{namespace(otherRun), account()}, engine.ResultFailed, engine.ReasonNotOurs, "belongs to run r-00000000", ""},
		"ours, terminating":          {[]runtime.Object{namespace(terminating), account()}, engine.ResultPending, "Terminating", "pods. has 2 resource instances", ""},
		"foreign, terminating":       {[]runtime.Object{namespace(terminating, foreign), account()}, engine.ResultPending, "Terminating", "still being deleted", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // one waits out its 1.5 s
			a := newAPI(tc.there...)
			r := a.Do(t.Context(), owner, intents(lesson)["createNamespace"])
			if r.Status != tc.status || r.Reason != tc.reason || !strings.Contains(r.Message, tc.message) || r.UID != tc.uid {
				t.Errorf("Do = %s %q %q UID %q, want %s %q …%q… UID %q", r.Status, r.Reason, r.Message, r.UID, tc.status, tc.reason, tc.message, tc.uid)
			}
		})
	}
}

func TestNamespaceCarriesWhatTheFenceAsksFor(t *testing.T) {
	a := newAPI(account())
	a.Do(t.Context(), owner, intents(lesson)["createNamespace"])
	ns, err := a.fake.CoreV1().Namespaces().Get(t.Context(), lesson, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"labbot.dev/owned": "true", "labbot.dev/run": "r-7k2mq4xa", "labbot.dev/cohort": "cohort-of-May", "labbot.dev/scenario": "break-image",
		"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/warn": "baseline", "pod-security.kubernetes.io/audit": "baseline",
	}
	if diff := cmp.Diff(want, ns.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"labbot.dev/expires": "2026-05-04T10:00:00Z"}, ns.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func TestNamespaceWithoutExpiryIsRefused(t *testing.T) {
	o := owner
	o.Expires = time.Time{}
	a := newAPI()
	if r := a.Do(t.Context(), o, intents(lesson)["createNamespace"]); r.Status != engine.ResultFailed || len(a.writes()) > 0 {
		t.Errorf("Do = %+v, writes %v", r, a.writes())
	}
}

func deleteIntent() engine.Intent {
	return engine.Intent{ID: "cleanup/wipe", Kind: engine.ActDeleteNamespace, DeleteNamespace: &engine.DeleteNamespace{Name: lesson, UID: string(nsUID)}}
}

func TestDeleteNamespace(t *testing.T) {
	other := namespace(func(n *corev1.Namespace) { n.UID = "ns-2" })
	for name, tc := range map[string]struct {
		there   []runtime.Object
		status  engine.ResultStatus
		message string
		writes  int
	}{
		"gone":                   {nil, engine.ResultDone, `namespaces "k8s-m01" not found`, 0},
		"another of its name":    {[]runtime.Object{other}, engine.ResultDone, "another (UID ns-2)", 0},
		"being deleted":          {[]runtime.Object{namespace(terminating)}, engine.ResultPending, "Some resources are remaining: pods.", 0},
		"deleted at once":        {[]runtime.Object{namespace()}, engine.ResultDone, "not found", 1},
		"labels taken by others": {[]runtime.Object{namespace(foreign)}, engine.ResultFailed, "was not made by labbot", 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(tc.there...)
			r := a.Do(t.Context(), owner, deleteIntent())
			if r.Status != tc.status || !strings.Contains(r.Message, tc.message) {
				t.Errorf("Do = %s %q, want %s …%q…", r.Status, r.Message, tc.status, tc.message)
			}
			if r.Intent != "cleanup/wipe" || r.At.IsZero() {
				t.Errorf("result of %q at %s, want the intent's id and a time", r.Intent, r.At)
			}
			if w := a.writes(); len(w) != tc.writes {
				t.Errorf("writes %v, want %d", w, tc.writes)
			}
		})
	}
	t.Run("without UID", func(t *testing.T) {
		a := newAPI(namespace())
		in := deleteIntent()
		in.DeleteNamespace.UID = ""
		if r := a.Do(t.Context(), owner, in); r.Status != engine.ResultFailed || len(a.writes()) > 0 {
			t.Errorf("Do = %+v, writes %v", r, a.writes())
		}
	})
}

func TestDeleteNamespaceNamesItsUID(t *testing.T) {
	a := newAPI(namespace())
	a.on("delete", "namespaces", 1, apierrors.NewConflict(schema.GroupResource{Resource: "namespaces"}, lesson, nil))
	// The namespace was replaced between look and deletion: the server refuses
	// by the precondition, and the next look shows what is there.
	if r := a.Do(t.Context(), owner, deleteIntent()); r.Status != engine.ResultPending {
		t.Errorf("Do = %+v, want pending", r)
	}
	var uid string
	for _, act := range a.fake.Actions() {
		if d, ok := act.(clienttesting.DeleteActionImpl); ok {
			uid = string(*d.DeleteOptions.Preconditions.UID)
		}
	}
	if uid != string(nsUID) {
		t.Errorf("the deletion named UID %q, want %q", uid, nsUID)
	}
}
