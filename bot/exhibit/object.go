package exhibit

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"labbot/scenarios/engine"
)

// object is one object of the evidence; at most one of the pointers is set.
type object struct {
	kind, name, uid string
	owner           *metav1.OwnerReference
	deleted         bool

	deploy *appsv1.Deployment
	rs     *appsv1.ReplicaSet
	pod    *corev1.Pod
	raw    map[string]any
}

func (o object) String() string { return o.kind + "/" + o.name }

// pick lists the objects behind the watch names, in their order. Secrets are
// left out whatever a scenario watches.
func pick(names []string, ev engine.Evidence) []object {
	var all []object
	for _, name := range names {
		r := ev.Objects[name]
		items := r.Items
		if r.Object != nil {
			items = append([]map[string]any{r.Object}, items...)
		}
		for _, item := range items {
			if o := read(item); o.kind != "Secret" {
				all = append(all, o)
			}
		}
	}
	return all
}

// kept lists the objects of a snapshot: one object or a list of them, as they
// come before and after a trip through JSON.
func kept(v any) []object {
	switch v := v.(type) {
	case map[string]any:
		return []object{read(v)}
	case []map[string]any:
		all := make([]object, 0, len(v))
		for _, item := range v {
			all = append(all, read(item))
		}
		return all
	case []any:
		var all []object
		for _, item := range v {
			if m, ok := item.(map[string]any); ok {
				all = append(all, read(m))
			}
		}
		return all
	}
	return nil
}

// read types the kinds that a learner of this course meets; of any other kind
// only metadata and conditions are used, never its data.
func read(raw map[string]any) object {
	u := unstructured.Unstructured{Object: raw}
	o := object{
		kind: str(raw["kind"]), name: u.GetName(), uid: string(u.GetUID()),
		deleted: u.GetDeletionTimestamp() != nil, raw: raw,
	}
	refs := u.GetOwnerReferences()
	if i := slices.IndexFunc(refs, func(r metav1.OwnerReference) bool { return r.Controller != nil && *r.Controller }); i >= 0 {
		o.owner = &refs[i]
	}
	switch o.kind {
	case "Deployment":
		o.deploy = typed[appsv1.Deployment](raw)
	case "ReplicaSet":
		o.rs = typed[appsv1.ReplicaSet](raw)
	case "Pod":
		o.pod = typed[corev1.Pod](raw)
	}
	return o
}

func typed[T any](raw map[string]any) *T {
	var v T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &v); err != nil {
		return nil // not the kind it claims to be: nothing may be concluded
	}
	return &v
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// specWriter names the client that wrote the spec last.
func specWriter(fields []metav1.ManagedFieldsEntry) string {
	manager, last := "", metav1.Time{}
	for _, f := range fields {
		if f.Subresource == "status" || f.Manager == "kube-controller-manager" || f.Time == nil || f.Time.Before(&last) {
			continue
		}
		manager, last = f.Manager, *f.Time
	}
	return manager
}

// revision is the Deployment's own count of templates, kept on its ReplicaSets.
func revision(rs *appsv1.ReplicaSet) string {
	return rs.Annotations["deployment.kubernetes.io/revision"]
}

func images(t corev1.PodSpec) string {
	var all []string
	for _, c := range t.Containers {
		all = append(all, c.Image)
	}
	return strings.Join(all, ", ")
}

// trouble says in one word why a Pod's container does not run, or nothing.
func trouble(p *corev1.Pod) string {
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return w.Reason
		}
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			return t.Reason
		}
	}
	return ""
}

func podReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
