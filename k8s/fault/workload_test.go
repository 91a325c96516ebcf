package fault

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"labbot/scenarios/engine"
)

func createIntent(image string, replicas int) engine.Intent {
	return engine.Intent{Kind: engine.ActCreateDeployment, CreateDeployment: &engine.CreateDeployment{Name: "web", Image: image, Replicas: replicas, Adopt: "sameSpec"}}
}

func TestCreateDeployment(t *testing.T) {
	for name, tc := range map[string]struct {
		there   []runtime.Object
		in      engine.Intent
		status  engine.ResultStatus
		reason  string
		message string
	}{
		"new":            {[]runtime.Object{namespace()}, createIntent("nginx:1.29-alpine", 2), engine.ResultDone, "", "deployment.apps/web created"},
		"same spec":      {[]runtime.Object{namespace(), deployment()}, createIntent("nginx:1.29-alpine", 2), engine.ResultDone, "", "there already"},
		"other image":    {[]runtime.Object{namespace(), deployment()}, createIntent("nginx:1.28", 2), engine.ResultFailed, "AlreadyExists", "its image is nginx:1.29-alpine, nginx:1.28 wanted"},
		"other replicas": {[]runtime.Object{namespace(), deployment()}, createIntent("nginx:1.29-alpine", 3), engine.ResultFailed, "AlreadyExists", "replicas differ from the 3"},
		"no namespace":   {nil, createIntent("nginx:1.29-alpine", 2), engine.ResultFailed, "NotFound", `namespaces "k8s-m01" not found`},
		"no image":       {[]runtime.Object{namespace()}, createIntent("", 2), engine.ResultFailed, "", "want a name, an image"},
		"too many":       {[]runtime.Object{namespace()}, createIntent("nginx", 1<<40), engine.ResultFailed, "", "want a name, an image"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newAPI(tc.there...).Do(t.Context(), owner, tc.in)
			if r.Status != tc.status || r.Reason != tc.reason || !strings.Contains(r.Message, tc.message) {
				t.Errorf("Do = %s %q %q, want %s %q …%q…", r.Status, r.Reason, r.Message, tc.status, tc.reason, tc.message)
			}
		})
	}
}

func TestDeploymentIsWhatKubectlMakes(t *testing.T) {
	got, err := deploymentFor(lesson, engine.CreateDeployment{Name: "web", Image: "127.0.0.1:5000/library/nginx:1.29-alpine", Replicas: 2})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"k8s-m01","labels":{"app":"web"}},
		"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},"strategy":{},"template":{"metadata":{"labels":{"app":"web"}},
		"spec":{"containers":[{"name":"nginx","image":"127.0.0.1:5000/library/nginx:1.29-alpine","resources":{}}]}}},"status":{}}`
	var wanted appsv1.Deployment
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&wanted, got); diff != "" {
		t.Errorf("deployment (-want +got):\n%s", diff)
	}
}

func imageIntent(image string, change ...func(*engine.SetImage)) engine.Intent {
	s := &engine.SetImage{Target: engine.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: lesson, Name: "web", UID: "u"}, Image: image}
	for _, f := range change {
		f(s)
	}
	return engine.Intent{Kind: engine.ActSetImage, SetImage: s}
}

func TestSetImage(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", errors.New("modified"))
	for name, tc := range map[string]struct {
		there     []runtime.Object
		in        engine.Intent
		conflicts int
		status    engine.ResultStatus
		reason    string
		message   string
		patches   int
	}{
		"changes":          {[]runtime.Object{namespace(), deployment()}, imageIntent("nginx:nope"), 0, engine.ResultDone, "", "image nginx:1.29-alpine → nginx:nope", 1},
		"set already":      {[]runtime.Object{namespace(), deployment()}, imageIntent("nginx:1.29-alpine"), 0, engine.ResultDone, "", "already", 0},
		"after a conflict": {[]runtime.Object{namespace(), deployment()}, imageIntent("nginx:nope"), 1, engine.ResultDone, "", "→ nginx:nope", 2},
		"conflicts only":   {[]runtime.Object{namespace(), deployment()}, imageIntent("nginx:nope"), 99, engine.ResultFailed, "Conflict", "modified", 4},
		"another UID":      {[]runtime.Object{namespace(), deployment(func(d *appsv1.Deployment) { d.UID = "v" })}, imageIntent("nginx:nope"), 0, engine.ResultFailed, "Conflict", "another one now", 0},
		"not there":        {[]runtime.Object{namespace()}, imageIntent("nginx:nope"), 0, engine.ResultFailed, "NotFound", `"web" not found`, 0},
		"no such container": {[]runtime.Object{namespace(), deployment()}, imageIntent("nginx:nope", func(s *engine.SetImage) { s.Container = 1 }), 0,
			engine.ResultFailed, "", "none with index 1", 0},
		"another kind": {[]runtime.Object{namespace()}, imageIntent("nginx:nope", func(s *engine.SetImage) { s.Target.Kind = "StatefulSet" }), 0,
			engine.ResultFailed, "", "knows apps/v1 Deployment only", 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(tc.there...)
			a.on("patch", "deployments", tc.conflicts, conflict)
			r := a.Do(t.Context(), owner, tc.in)
			if r.Status != tc.status || r.Reason != tc.reason || !strings.Contains(r.Message, tc.message) {
				t.Errorf("Do = %s %q %q, want %s %q …%q…", r.Status, r.Reason, r.Message, tc.status, tc.reason, tc.message)
			}
			if w := a.writes(); len(w) != tc.patches {
				t.Errorf("writes %v, want %d", w, tc.patches)
			}
		})
	}
}

func TestSetImageIsTiedToTheVersionItSaw(t *testing.T) {
	a := newAPI(namespace(), deployment())
	a.Do(t.Context(), owner, imageIntent("nginx:nope"))
	for _, act := range a.fake.Actions() {
		p, ok := act.(clienttesting.PatchActionImpl)
		if !ok {
			continue
		}
		want := `{"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"template":{"spec":{"containers":[{"image":"nginx:nope","name":"nginx"}]}}}}`
		if got := string(p.Patch); got != want || p.PatchType != types.StrategicMergePatchType || p.PatchOptions.FieldManager != "labbot" {
			t.Errorf("patch %s of type %s by %q, want %s", got, p.PatchType, p.PatchOptions.FieldManager, want)
		}
		return
	}
	t.Error("no patch was sent")
}

func pod(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: lesson, Name: "web-1", UID: "u"}}
	for _, f := range change {
		f(p)
	}
	return p
}

func TestDeletePod(t *testing.T) {
	now := metav1.Now()
	going := func(p *corev1.Pod) { p.DeletionTimestamp, p.Finalizers = &now, []string{"x/y"} }
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web-1", errors.New("uid"))
	for name, tc := range map[string]struct {
		there   []runtime.Object
		err     error
		status  engine.ResultStatus
		message string
		deletes int
	}{
		"there":                 {[]runtime.Object{namespace(), pod()}, nil, engine.ResultDone, `pod "web-1" deleted`, 1},
		"gone":                  {[]runtime.Object{namespace()}, nil, engine.ResultDone, "not found", 0},
		"gone with all":         {nil, nil, engine.ResultDone, "not found", 0},
		"another UID":           {[]runtime.Object{namespace(), pod(func(p *corev1.Pod) { p.UID = "v" })}, nil, engine.ResultDone, "another has its name", 0},
		"replaced in mid-air":   {[]runtime.Object{namespace(), pod()}, conflict, engine.ResultDone, "deleted", 1},
		"being deleted already": {[]runtime.Object{namespace(), pod(going)}, nil, engine.ResultDone, "being deleted already", 0},
		"forbidden":             {[]runtime.Object{namespace(), pod()}, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-1", errors.New("no")), engine.ResultFailed, "forbidden", 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(tc.there...)
			if tc.err != nil {
				a.on("delete", "pods", 1, tc.err)
			}
			r := a.Do(t.Context(), owner, intents(lesson)["deletePod"])
			if r.Status != tc.status || !strings.Contains(r.Message, tc.message) {
				t.Errorf("Do = %s %q, want %s …%q…", r.Status, r.Message, tc.status, tc.message)
			}
			if w := a.writes(); len(w) != tc.deletes {
				t.Errorf("writes %v, want %d", w, tc.deletes)
			}
			for _, act := range a.fake.Actions() {
				if d, ok := act.(clienttesting.DeleteActionImpl); ok && (d.DeleteOptions.Preconditions == nil || *d.DeleteOptions.Preconditions.UID != "u") {
					t.Errorf("deleted without the UID as precondition: %+v", d.DeleteOptions)
				}
			}
		})
	}
}

func TestGet(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: lesson, Name: "web-1"}}
	a := newAPI(namespace(), pod(), secret)
	for name, tc := range map[string]struct {
		ref     engine.Ref
		status  engine.ResultStatus
		reason  string
		message string
	}{
		"namespace":       {engine.Ref{APIVersion: "v1", Kind: "Namespace", Name: lesson}, engine.ResultDone, "", "found"},
		"pod":             {engine.Ref{APIVersion: "v1", Kind: "Pod", Namespace: lesson, Name: "web-1"}, engine.ResultDone, "", "found"},
		"absent":          {engine.Ref{APIVersion: "v1", Kind: "Pod", Namespace: lesson, Name: "no"}, engine.ResultFailed, "NotFound", `pods "no" not found`},
		"other namespace": {engine.Ref{APIVersion: "v1", Kind: "Pod", Namespace: "prod", Name: "x"}, engine.ResultFailed, engine.ReasonNotOurs, "outside"},
		"cluster-wide":    {engine.Ref{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "admin"}, engine.ResultFailed, engine.ReasonNotOurs, "cluster-wide"},
		"secret":          {engine.Ref{APIVersion: "v1", Kind: "Secret", Namespace: lesson, Name: "web-1"}, engine.ResultFailed, "", "Secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			r := a.Do(t.Context(), owner, engine.Intent{Kind: engine.ActGet, Get: &engine.Get{Target: tc.ref}})
			if r.Status != tc.status || r.Reason != tc.reason || !strings.Contains(r.Message, tc.message) {
				t.Errorf("Do = %s %q %q, want %s %q …%q…", r.Status, r.Reason, r.Message, tc.status, tc.reason, tc.message)
			}
		})
	}
	t.Run("the proof of cleanup", func(t *testing.T) {
		r := newAPI().Do(t.Context(), owner, intents(lesson)["get"])
		if r.Reason != "NotFound" || r.Message != `namespaces "k8s-m01" not found` {
			t.Errorf("Do = %q %q", r.Reason, r.Message)
		}
	})
}

// history is a Deployment on the broken image with its two ReplicaSets.
func history(change ...func(*appsv1.Deployment)) []runtime.Object {
	set := func(name, revision, image string) *appsv1.ReplicaSet {
		d := deployment()
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: lesson, Name: name, UID: types.UID(name), Labels: map[string]string{"app": "web", "pod-template-hash": name},
			Annotations:     map[string]string{"deployment.kubernetes.io/revision": revision},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		}, Spec: appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: *d.Spec.Template.DeepCopy()}}
		rs.Spec.Template.Labels = map[string]string{"app": "web", "pod-template-hash": name}
		rs.Spec.Template.Spec.Containers[0].Image = image
		return rs
	}
	broken := deployment(append([]func(*appsv1.Deployment){func(d *appsv1.Deployment) {
		d.Annotations["deployment.kubernetes.io/revision"] = "2"
		d.Spec.Template.Spec.Containers[0].Image = "nginx:nope"
	}}, change...)...)
	return []runtime.Object{namespace(), broken, set("a", "1", "nginx:1.29-alpine"), set("b", "2", "nginx:nope")}
}

// adopted gives the ReplicaSet of revision 1 to another Deployment.
func adopted(objects []runtime.Object) []runtime.Object {
	objects[2].(*appsv1.ReplicaSet).OwnerReferences[0].UID = "another"
	return objects
}

// undoIntent returns to an image, with the template as it comes out of storage:
// plain JSON, whole numbers as float64.
func undoIntent(t *testing.T, image string) engine.Intent {
	t.Helper()
	template := deployment().Spec.Template
	template.Spec.Containers[0].Image = image
	raw, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return engine.Intent{Kind: engine.ActUndo, Undo: &engine.Undo{
		Target: engine.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: lesson, Name: "web", UID: "u"}, Template: m,
	}}
}

func TestUndo(t *testing.T) {
	for name, tc := range map[string]struct {
		there   []runtime.Object
		image   string
		status  engine.ResultStatus
		reason  string
		message string
		patches int
		after   string // image afterwards
	}{
		"to the baseline": {history(), "nginx:1.29-alpine", engine.ResultDone, "", "rolled back to revision 1", 1, "nginx:1.29-alpine"},
		"already there":   {history(), "nginx:nope", engine.ResultDone, "", "already, revision 2", 0, "nginx:nope"},
		"paused": {history(func(d *appsv1.Deployment) { d.Spec.Paused = true }), "nginx:1.29-alpine", engine.ResultFailed, "",
			"you cannot rollback a paused deployment; resume it first", 0, "nginx:nope"},
		"history lost":                 {history()[:2], "nginx:1.29-alpine", engine.ResultFailed, "NotFound", "no ReplicaSet of deployment \"web\" holds", 0, "nginx:nope"},
		"held by another's ReplicaSet": {adopted(history()), "nginx:1.29-alpine", engine.ResultFailed, "NotFound", "nothing to roll back to", 0, "nginx:nope"},
		"never was":                    {history(), "nginx:1.0", engine.ResultFailed, "NotFound", "nothing to roll back to", 0, "nginx:nope"},
		"deployment is no":             {history()[:1], "nginx:1.29-alpine", engine.ResultFailed, "NotFound", `"web" not found`, 0, ""},
		"another UID":                  {history(func(d *appsv1.Deployment) { d.UID = "v" }), "nginx:1.29-alpine", engine.ResultFailed, "Conflict", "another one now", 0, "nginx:nope"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // one waits for a controller that is not there
			a := newAPI(tc.there...)
			r := a.Do(t.Context(), owner, undoIntent(t, tc.image))
			if r.Status != tc.status || r.Reason != tc.reason || !strings.Contains(r.Message, tc.message) {
				t.Errorf("Do = %s %q %q, want %s %q …%q…", r.Status, r.Reason, r.Message, tc.status, tc.reason, tc.message)
			}
			if w := a.writes(); len(w) != tc.patches {
				t.Errorf("writes %v, want %d", w, tc.patches)
			}
			if d, err := a.fake.AppsV1().Deployments(lesson).Get(t.Context(), "web", metav1.GetOptions{}); err == nil {
				if got := d.Spec.Template.Spec.Containers[0].Image; got != tc.after {
					t.Errorf("image afterwards %s, want %s", got, tc.after)
				}
			}
		})
	}
}

func TestUndoTwiceHasOneEffect(t *testing.T) {
	a := newAPI(history()...)
	first := a.Do(t.Context(), owner, undoIntent(t, "nginx:1.29-alpine"))
	second := a.Do(t.Context(), owner, undoIntent(t, "nginx:1.29-alpine"))
	if first.Status != engine.ResultDone || second.Status != engine.ResultDone || len(a.writes()) != 1 {
		t.Errorf("first %+v, second %+v, writes %v; want both done by one write", first, second, a.writes())
	}
}

func TestUndoNamesTheNewRevision(t *testing.T) {
	a := newAPI(history()...)
	// The deployment-controller renumbers the revision as it sees the template.
	a.fake.PrependReactor("patch", "deployments", func(act clienttesting.Action) (bool, runtime.Object, error) {
		handled, obj, err := clienttesting.ObjectReaction(a.fake.Tracker())(act)
		d := obj.(*appsv1.Deployment)
		d.Annotations["deployment.kubernetes.io/revision"] = "3"
		return handled, d, errors.Join(err, a.fake.Tracker().Update(appsv1.SchemeGroupVersion.WithResource("deployments"), d, lesson))
	})
	r := a.Do(t.Context(), owner, undoIntent(t, "nginx:1.29-alpine"))
	if want := "rolled back to revision 1, now revision 3"; r.Message != want {
		t.Errorf("message %q, want %q", r.Message, want)
	}
}

func TestUndoTellsTroubleOfTheConnectionFromARefusal(t *testing.T) {
	a := newAPI(history()...)
	refused := errors.New("connection refused")
	a.on("patch", "deployments", 9, refused)
	a.Bind = func(context.Context) (Bound, error) {
		return Bound{Interface: a.fake, Trouble: func() error { return refused }}, nil
	}
	if r := a.Do(t.Context(), owner, undoIntent(t, "nginx:1.29-alpine")); r.Status != engine.ResultUnreachable || !strings.Contains(r.Message, "connection refused") {
		t.Errorf("Do = %s %q, want unreachable", r.Status, r.Message)
	}
}

func TestTemplateComparesLikeKubectl(t *testing.T) {
	a := deployment().Spec.Template
	b := *a.DeepCopy()
	b.Labels = map[string]string{"app": "web", "pod-template-hash": "abc"}
	b.Spec.Containers[0].Env = []corev1.EnvVar{}
	if !sameTemplate(&a, &b) {
		t.Error("the hash label and an empty list must not count")
	}
	b.Spec.Containers[0].Image = "nginx:x"
	if sameTemplate(&a, &b) {
		t.Error("another image must count")
	}
}
