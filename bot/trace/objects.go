package trace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"labbot/scenarios/engine"
)

// controllerManager is the field manager of all built-in controllers.
const controllerManager = "kube-controller-manager"

// reader collects hops. Objects are read before Events, so that an Event can be
// joined to the object's own record.
type reader struct {
	snapshots []appsv1.Deployment
	hops      []Hop
	gen       int64
}

func (r *reader) add(h Hop) {
	h.At = h.At.UTC().Truncate(time.Second)
	h.Count = max(1, h.Count)
	h.Detail = cut(h.Detail)
	r.hops = append(r.hops, h)
}

func cut(s string) string {
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > maxDetail {
		return string(r[:maxDetail-1]) + "…"
	}
	return s
}

// objects lists what the watches show, each object once, Deployments first.
func objects(ev engine.Evidence) []map[string]any {
	var all []map[string]any
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(ev.Objects)) {
		reading := ev.Objects[name]
		items := reading.Items
		if reading.Object != nil {
			items = append([]map[string]any{reading.Object}, items...)
		}
		for _, obj := range items {
			meta, _ := obj["metadata"].(map[string]any)
			uid := fmt.Sprint(obj["kind"], meta["namespace"], meta["name"], meta["uid"])
			if !seen[uid] {
				seen[uid] = true
				all = append(all, obj)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b map[string]any) int {
		return strings.Compare(fmt.Sprint(a["kind"]), fmt.Sprint(b["kind"])) // Deployment < Pod < ReplicaSet
	})
	return all
}

// typed turns an object's JSON form into its Go type; what does not fit is not
// read, as nothing may be concluded from it.
func typed[T any](obj map[string]any) (T, bool) {
	var v T
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, &v)
	return v, err == nil
}

// snapshots lists the Deployments that the run has kept, oldest generation first.
func snapshots(st engine.State) []appsv1.Deployment {
	var all []appsv1.Deployment
	for _, step := range slices.Sorted(maps.Keys(st.At)) {
		for _, kept := range st.At[step] {
			obj, ok := kept.(map[string]any)
			if !ok || obj["kind"] != "Deployment" {
				continue
			}
			if d, ok := typed[appsv1.Deployment](obj); ok {
				all = append(all, d)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b appsv1.Deployment) int { return int(a.Generation - b.Generation) })
	return all
}

func (r *reader) object(obj map[string]any) {
	switch obj["kind"] {
	case "Deployment":
		if d, ok := typed[appsv1.Deployment](obj); ok {
			r.deployment(d)
		}
	case "ReplicaSet":
		if rs, ok := typed[appsv1.ReplicaSet](obj); ok {
			r.replicaSet(rs)
		}
	case "Pod":
		if p, ok := typed[corev1.Pod](obj); ok {
			r.pod(p)
		}
	}
}

func (r *reader) deployment(d appsv1.Deployment) {
	r.gen = max(r.gen, d.Generation)
	key, name := "deploy/"+string(d.UID), "Deployment/"+d.Name
	created := Hop{
		Key: key + "/created", At: d.CreationTimestamp.Time, Component: APIServer, What: Accepted, Object: name,
		Gen: 1, Source: "metadata.creationTimestamp",
	}
	by, at := specWriter(d.ManagedFields)
	if d.Generation <= 1 {
		created.By = by
		created.Detail = imagesOf(d.Spec.Template) + replicasOf(d.Spec.Replicas)
	}
	r.add(created)
	if d.Generation > 1 && !at.IsZero() {
		what, detail := r.change(d)
		r.add(Hop{
			Key: fmt.Sprintf("%s/generation/%d", key, d.Generation), At: at, Component: APIServer, What: what, Object: name,
			Detail: detail, By: by, Gen: d.Generation, Source: "managedFields " + by,
		})
	}
	if at := completeAt(d); !at.IsZero() {
		r.add(Hop{
			Key: fmt.Sprintf("%s/complete/%d", key, d.Generation), At: at, Component: DeploymentController, What: Complete, Object: name,
			Detail: fmt.Sprintf("%d/%d", d.Status.AvailableReplicas, d.Status.Replicas), Gen: d.Generation,
			Source: "condition Progressing",
		})
	}
}

// change tells a template that came back from one that is new, by the newest
// snapshot of an earlier generation.
func (r *reader) change(d appsv1.Deployment) (what, detail string) {
	for _, s := range slices.Backward(r.snapshots) {
		if s.UID != d.UID || s.Generation >= d.Generation {
			continue
		}
		if replicasOf(s.Spec.Replicas) != replicasOf(d.Spec.Replicas) {
			return Changed, strings.TrimPrefix(replicasOf(d.Spec.Replicas), ", ")
		}
		if equality.Semantic.DeepEqual(s.Spec.Template, d.Spec.Template) {
			return Restored, imagesOf(d.Spec.Template)
		}
		break
	}
	return Changed, imagesOf(d.Spec.Template)
}

// specWriter names the client that wrote the spec last. The status is written by
// controllers and says nothing of it.
func specWriter(fields []metav1.ManagedFieldsEntry) (manager string, at time.Time) {
	for _, f := range fields {
		if f.Subresource == "status" || f.Manager == controllerManager || f.Time == nil {
			continue
		}
		if f.Time.After(at) {
			manager, at = f.Manager, f.Time.Time
		}
	}
	return manager, at
}

// completeAt is when the rollout of the present spec was complete.
func completeAt(d appsv1.Deployment) time.Time {
	s := d.Status
	if d.Spec.Replicas == nil || *d.Spec.Replicas == 0 || s.ObservedGeneration != d.Generation ||
		s.UpdatedReplicas != *d.Spec.Replicas || s.Replicas != s.UpdatedReplicas || s.AvailableReplicas != s.UpdatedReplicas {
		return time.Time{}
	}
	for _, c := range s.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Reason == "NewReplicaSetAvailable" {
			return c.LastUpdateTime.Time
		}
	}
	return time.Time{}
}

func (r *reader) replicaSet(rs appsv1.ReplicaSet) {
	owner := metav1.GetControllerOfNoCopy(&rs)
	if owner == nil || owner.Kind != "Deployment" {
		return
	}
	r.add(Hop{
		Key: "rs/" + string(rs.UID) + "/created", At: rs.CreationTimestamp.Time, Component: DeploymentController, What: CreatedReplicaSet,
		Object: "ReplicaSet/" + rs.Name, Detail: imagesOf(rs.Spec.Template),
		Source: "ownerReferences " + owner.Kind + "/" + owner.Name,
	})
}

func imagesOf(t corev1.PodTemplateSpec) string {
	var images []string
	for _, c := range t.Spec.Containers {
		images = append(images, c.Image)
	}
	return strings.Join(images, ", ")
}

func replicasOf(n *int32) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf(", replicas %d", *n)
}
