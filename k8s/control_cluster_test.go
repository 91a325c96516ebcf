package k8s

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labbot/scenarios/engine"
)

// These tests need a control plane, but no Node.

func TestClusterIdentity(t *testing.T) {
	b := newBench(t)
	id, err := b.bot.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	system, err := b.admin.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if id.UID != string(system.UID) || id.Context == "" || id.Cluster == "" || !strings.HasPrefix(id.Version, "v1.") || !strings.HasPrefix(id.Server, "https://") {
		t.Errorf("Identity = %+v", id)
	}
}

func TestNamespaceFromOpenToClose(t *testing.T) {
	b := newBench(t)
	// The watches stand before there is a namespace, and outlive it.
	lens := b.watch(deployView, podsView, nsView(b))
	b.wait(10*time.Second, "the first lists", func() bool {
		e := lens.Evidence()
		return e.Objects["deploy"].Known && e.Objects["pods"].Known && e.Objects["ns"].Known && e.Objects["ns"].Object == nil
	})
	var uids []string
	for range 2 { // it comes back under the same name
		made := b.must(b.createNamespace(), 20*time.Second)
		again := b.must(b.createNamespace(), 20*time.Second)
		if made.UID == "" || again.UID != made.UID {
			t.Fatalf("made %+v, again %+v: want one namespace", made, again)
		}
		deploy := b.must(b.createWeb(), 10*time.Second)
		if twice := b.must(b.createWeb(), 10*time.Second); twice.UID != deploy.UID {
			t.Fatalf("made %+v, again %+v: want one Deployment", deploy, twice)
		}
		b.wait(20*time.Second, "the lens to show the new Deployment and its Pods", func() bool {
			e := lens.Evidence()
			return field[string](e.Objects["deploy"].Object, "metadata", "uid") == deploy.UID && len(e.Objects["pods"].Items) == 2
		})
		uids = append(uids, made.UID)
		b.must(b.deleteNamespace(made.UID), 90*time.Second)
		if r := b.do(b.proof(), 10*time.Second); r.Reason != "NotFound" || r.Message != `namespaces "`+b.meta.Namespace+`" not found` {
			t.Errorf("proof = %+v", r)
		}
		b.wait(10*time.Second, "the lens to show nothing", func() bool {
			e := lens.Evidence()
			return e.Objects["deploy"].Known && e.Objects["deploy"].Object == nil && len(e.Objects["pods"].Items) == 0 && e.Objects["ns"].Object == nil
		})
	}
	if uids[0] == uids[1] {
		t.Error("the second namespace has the UID of the first")
	}
	if r := b.do(b.deleteNamespace(uids[0]), 10*time.Second); r.Status != engine.ResultDone {
		t.Errorf("deleting what is gone = %+v, want done", r)
	}
}

func TestForeignNamespaceIsLeftUntouched(t *testing.T) {
	b := newBench(t)
	foreign, err := b.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.meta.Namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.wait(10*time.Second, "its service account", func() bool {
		_, err := b.admin.CoreV1().ServiceAccounts(foreign.Name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	before, err := b.admin.CoreV1().Namespaces().Get(t.Context(), foreign.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []engine.Intent{b.createNamespace(), b.createWeb(), b.deleteNamespace(string(foreign.UID))} {
		if r := b.do(in, 10*time.Second); r.Status != engine.ResultFailed || r.Reason != engine.ReasonNotOurs {
			t.Errorf("%s = %s %s %q, want failed NotOurs", in.Kind, r.Status, r.Reason, r.Message)
		}
	}
	if gone, _, err := b.bot.DeleteOwned(t.Context(), foreign.Name, string(foreign.UID)); gone || err == nil {
		t.Errorf("DeleteOwned = %t, %v, want it refused", gone, err)
	}
	if _, err := b.bot.Describe(t.Context(), b.web("")); err == nil || !strings.Contains(err.Error(), ErrOutside.Error()) {
		t.Errorf("Describe = %v, want it refused", err)
	}
	after, err := b.admin.CoreV1().Namespaces().Get(t.Context(), foreign.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the namespace changed (-before +after):\n%s", diff)
	}
	if owned, err := b.bot.Owned(t.Context()); err != nil || len(owned) > 0 && owned[0].Name == foreign.Name {
		t.Errorf("Owned = %v, %v", owned, err)
	}
}

func TestImageIsSetAndUndone(t *testing.T) {
	b := newBench(t)
	b.must(b.createNamespace(), 20*time.Second)
	lens := b.watch(deployView, rsView)
	deploy := b.must(b.createWeb(), 10*time.Second)
	sets := func(n int) {
		b.wait(20*time.Second, "its ReplicaSets", func() bool {
			e := lens.Evidence()
			gen := field[int64](e.Objects["deploy"].Object, "metadata", "generation")
			return len(e.Objects["rs"].Items) == n && gen == field[int64](e.Objects["deploy"].Object, "status", "observedGeneration")
		})
	}
	sets(1)
	baseline := field[map[string]any](lens.Evidence().Objects["deploy"].Object, "spec", "template")

	image := engine.Intent{ID: "inject/set-image", Kind: engine.ActSetImage, SetImage: &engine.SetImage{Target: b.web(deploy.UID), Image: "nginx:does-not-exist"}}
	if r := b.must(image, 10*time.Second); r.Message != "container nginx: image nginx:1.29-alpine → nginx:does-not-exist, generation 1 → 2" {
		t.Errorf("set image: %s", r.Message)
	}
	if r := b.must(image, 10*time.Second); !strings.Contains(r.Message, "already") {
		t.Errorf("set image again: %s", r.Message)
	}
	sets(2)
	text, err := b.bot.Describe(t.Context(), b.web(""))
	if err != nil || !strings.Contains(text, "nginx:does-not-exist") || !strings.Contains(text, "OldReplicaSets:") {
		t.Errorf("Describe = %v:\n%s", err, text)
	}

	undo := engine.Intent{ID: "fix/rollback", Kind: engine.ActUndo, Undo: &engine.Undo{Target: b.web(deploy.UID), Template: baseline}}
	if r := b.must(undo, 10*time.Second); r.Message != "rolled back to revision 1, now revision 3" {
		t.Errorf("undo: %s", r.Message)
	}
	sets(2)
	if r := b.must(undo, 10*time.Second); !strings.Contains(r.Message, "already, revision 3") {
		t.Errorf("undo again: %s", r.Message)
	}
	got := lens.Evidence().Objects["deploy"].Object
	if diff := cmp.Diff(baseline, field[map[string]any](got, "spec", "template")); diff != "" {
		t.Errorf("template after undo (-baseline +now):\n%s", diff)
	}
	writers := map[string]bool{}
	for _, entry := range field[[]any](got, "metadata", "managedFields") {
		e := entry.(map[string]any)
		writers[field[string](e, "manager")+" "+field[string](e, "subresource")] = true
		if e["fieldsV1"] != nil || e["time"] == nil {
			t.Errorf("managedFields entry %v: want a time and no fieldsV1", e)
		}
	}
	// kubectl's rollback gives no field manager: the user agent must speak for us.
	if want := map[string]bool{"labbot ": true, "kube-controller-manager status": true}; !writers["labbot "] || len(writers) > 3 {
		t.Errorf("writers %v, want %v", writers, want)
	}
}

func TestUndoOfAPausedDeploymentSaysSoInKubectlsWords(t *testing.T) {
	b := newBench(t)
	b.must(b.createNamespace(), 20*time.Second)
	deploy := b.must(b.createWeb(), 10*time.Second)
	deployments := b.admin.AppsV1().Deployments(b.meta.Namespace)
	b.wait(10*time.Second, "revision 1", func() bool {
		d, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && d.Annotations["deployment.kubernetes.io/revision"] == "1"
	})
	lens := b.watch(deployView)
	b.wait(10*time.Second, "the Deployment", func() bool { return lens.Evidence().Objects["deploy"].Object != nil })
	baseline := field[map[string]any](lens.Evidence().Objects["deploy"].Object, "spec", "template")
	_, err := deployments.Patch(t.Context(), "web", "application/merge-patch+json",
		[]byte(`{"spec":{"paused":true,"template":{"metadata":{"labels":{"app":"web","by":"learner"}}}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := b.do(engine.Intent{Kind: engine.ActUndo, Undo: &engine.Undo{Target: b.web(deploy.UID), Template: baseline}}, 10*time.Second)
	if r.Status != engine.ResultFailed || !strings.Contains(r.Message, "you cannot rollback a paused deployment") {
		t.Errorf("undo = %s %q", r.Status, r.Message)
	}
}

func TestNamespaceHeldByAFinalizerSaysWhatRemains(t *testing.T) {
	b := newBench(t)
	made := b.must(b.createNamespace(), 20*time.Second)
	maps := b.admin.CoreV1().ConfigMaps(b.meta.Namespace)
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"labbot.dev/test"}}}
	if _, err := maps.Create(t.Context(), held, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	release := func() {
		_, err := maps.Patch(t.Context(), "held", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("release the finalizer: %v", err)
		}
	}
	defer release()
	b.wait(60*time.Second, "the words of what remains", func() bool {
		r := b.bot.Do(t.Context(), b.meta, b.deleteNamespace(made.UID))
		return r.Status == engine.ResultPending && strings.Contains(r.Message, "labbot.dev/test")
	})
	if r := b.bot.Do(t.Context(), b.meta, b.createNamespace()); r.Status != engine.ResultPending || r.UID != "" || !strings.Contains(r.Message, "still being deleted") {
		t.Errorf("create while it goes = %+v, want pending without a UID", r)
	}
	release()
	b.must(b.deleteNamespace(made.UID), 90*time.Second)
}

func TestLabNamespaceEnforcesPodSecurity(t *testing.T) {
	b := newBench(t)
	b.must(b.createNamespace(), 20*time.Second)
	_, err := b.admin.CoreV1().Pods(b.meta.Namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "host"},
		Spec:       corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "baseline") {
		t.Errorf("a Pod on the host's network: %v, want it refused by level baseline", err)
	}
}

func TestOwnedNamespacesAreListedAndRemoved(t *testing.T) {
	b := newBench(t)
	made := b.must(b.createNamespace(), 20*time.Second)
	owned, err := b.bot.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, o := range owned {
		if o.UID == made.UID {
			found = o.Name == b.meta.Namespace && o.Run == b.meta.Run && o.Expires.Equal(b.meta.Expires.Truncate(time.Second))
		}
	}
	if !found {
		t.Errorf("Owned = %+v, want %s of run %s among them", owned, b.meta.Namespace, b.meta.Run)
	}
	if gone, _, err := b.bot.DeleteOwned(t.Context(), b.meta.Namespace, "another-uid"); !gone || err != nil {
		t.Errorf("DeleteOwned by another UID = %t, %v; want gone, as that one is", gone, err)
	}
	b.wait(90*time.Second, "the namespace to go", func() bool {
		gone, _, err := b.bot.DeleteOwned(t.Context(), b.meta.Namespace, made.UID)
		if err != nil {
			t.Fatal(err)
		}
		return gone
	})
}

func TestWatchOfEventsShowsBothRecorders(t *testing.T) {
	b := newBench(t)
	b.must(b.createNamespace(), 20*time.Second)
	lens := b.watch(rsView, podsView)
	b.must(b.createWeb(), 10*time.Second)
	b.wait(30*time.Second, "the controllers' Events", func() bool {
		reasons := map[string]string{}
		for _, e := range lens.Evidence().Events {
			reasons[e.Reason] = e.Component
		}
		return reasons["ScalingReplicaSet"] == "deployment-controller" && reasons["SuccessfulCreate"] == "replicaset-controller" &&
			(reasons["Scheduled"] == "default-scheduler" || reasons["FailedScheduling"] == "default-scheduler")
	})
	for _, e := range lens.Evidence().Events {
		if e.UID == "" || e.Count < 1 || e.Created.IsZero() || e.First.IsZero() || e.Last.IsZero() || e.Regarding.Name == "" || e.Regarding.UID == "" {
			t.Errorf("incomplete event: %+v", e)
		}
	}
	for as, r := range lens.Evidence().Objects {
		for _, o := range r.Items {
			if field[string](o, "apiVersion") == "" || field[string](o, "kind") == "" {
				t.Errorf("%s: list item without its kind: %v", as, o)
			}
		}
	}
}
