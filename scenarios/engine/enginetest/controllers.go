package enginetest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tick is the grain of the world's clock.
const tick = 500 * time.Millisecond

// Advance lets the cluster work for d.
func (w *World) Advance(d time.Duration) {
	for end := w.Now.Add(d); w.Now.Before(end); {
		w.Now = w.Now.Add(tick)
		if w.Lag {
			w.show()
		}
		w.namespaceController()
		for _, d := range w.deploys {
			w.deploymentController(d)
		}
		w.replicaSetController()
		w.kubelet()
		w.status()
		if !w.Lag {
			w.show()
		}
	}
}

func (w *World) show() {
	w.shownDeps, w.shownSets, w.shownPods = data(w.deploys), data(w.sets), data(w.pods)
}

func data(l []*object) []map[string]any {
	out := make([]map[string]any, len(l))
	for i, o := range l {
		out[i] = copied(o.data)
	}
	return out
}

func (w *World) namespaceController() {
	if w.nsEnding {
		w.deploys, w.sets = nil, nil
		for _, p := range w.pods {
			w.end(p)
		}
		if len(w.pods) == 0 && !w.Stuck {
			w.ns, w.nsEnding = nil, false
		}
	}
}

// deploymentController does a rolling update with 25 % surge and 25 %
// unavailable, as by default.
func (w *World) deploymentController(d *object) {
	want := num(d.data, "spec", "replicas")
	newest := w.setFor(d)
	surge, down := int64(math.Ceil(float64(want)*0.25)), int64(float64(want)*0.25)
	var total, available int64
	for _, rs := range w.sets {
		total += num(rs.data, "spec", "replicas")
		available += w.readyOf(rs)
	}
	if have := num(newest.data, "spec", "replicas"); have < want {
		scale(newest, min(want, have+max(want+surge-total, 0)))
	} else {
		scale(newest, want)
	}
	spare := available - (want - down)
	for _, rs := range w.sets {
		if rs == newest {
			continue
		}
		have := num(rs.data, "spec", "replicas")
		// Pods that are not ready serve nobody and go first.
		idle := have - w.readyOf(rs)
		cut := min(have, max(idle, 0)+max(min(spare, have-idle), 0))
		spare -= max(cut-idle, 0)
		scale(rs, have-cut)
	}
	d.data["status"].(map[string]any)["observedGeneration"] = num(d.data, "metadata", "generation")
}

func scale(rs *object, n int64) { rs.data["spec"].(map[string]any)["replicas"] = n }

// setFor gives the ReplicaSet of the Deployment's template, made if need be.
func (w *World) setFor(d *object) *object {
	t := copied(get(d.data, "spec", "template").(map[string]any))
	raw, _ := json.Marshal(t)
	h := fnv.New32a()
	_, _ = h.Write(raw)
	hash := fmt.Sprintf("%08x", h.Sum32())
	name := str(d.data, "metadata", "name") + "-" + hash
	latest := int64(0)
	for _, rs := range w.sets {
		latest = max(latest, revision(rs))
	}
	rs := w.find(w.sets, name)
	if rs == nil {
		get(t, "metadata", "labels").(map[string]any)["pod-template-hash"] = hash
		rs = &object{created: w.Now, data: map[string]any{
			"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": w.meta("ReplicaSet", name),
			"spec": map[string]any{"replicas": int64(0), "template": t}, "status": map[string]any{},
		}}
		rs.data["metadata"].(map[string]any)["ownerReferences"] = owner("Deployment", d)
		rs.data["metadata"].(map[string]any)["annotations"] = map[string]any{}
		w.sets = append(w.sets, rs)
	}
	if revision(rs) != latest || latest == 0 {
		rs.data["metadata"].(map[string]any)["annotations"].(map[string]any)["deployment.kubernetes.io/revision"] = strconv.FormatInt(latest+1, 10)
	}
	return rs
}

func revision(rs *object) int64 {
	n, _ := strconv.ParseInt(str(rs.data, "metadata", "annotations", "deployment.kubernetes.io/revision"), 10, 64)
	return n
}

func owner(kind string, o *object) []any {
	return []any{map[string]any{"kind": kind, "name": str(o.data, "metadata", "name"), "uid": str(o.data, "metadata", "uid"), "controller": true}}
}

func (w *World) podsOf(rs *object) []*object {
	var l []*object
	for _, p := range w.pods {
		if str(p.data["metadata"].(map[string]any)["ownerReferences"].([]any)[0], "uid") == str(rs.data, "metadata", "uid") && p.ending.IsZero() {
			l = append(l, p)
		}
	}
	return l
}

func (w *World) readyOf(rs *object) int64 {
	n := int64(0)
	for _, p := range w.podsOf(rs) {
		if podReady(p) {
			n++
		}
	}
	return n
}

func podReady(p *object) bool {
	c, _ := get(p.data, "status", "conditions").([]any)
	return p.ending.IsZero() && len(c) > 0 && str(c[0], "status") == "True"
}

func (w *World) replicaSetController() {
	for _, rs := range w.sets {
		have := w.podsOf(rs)
		want := int(num(rs.data, "spec", "replicas"))
		for range want - len(have) {
			w.pods = append(w.pods, w.newPod(rs))
		}
		slices.SortStableFunc(have, func(a, b *object) int { // not ready first
			return map[bool]int{false: 0, true: 1}[podReady(a)] - map[bool]int{false: 0, true: 1}[podReady(b)]
		})
		for i := range len(have) - want {
			w.end(have[i])
		}
	}
}

func (w *World) newPod(rs *object) *object {
	t := copied(get(rs.data, "spec", "template").(map[string]any))
	name := fmt.Sprintf("%s-%03d", str(rs.data, "metadata", "name"), w.serial+1)
	p := &object{created: w.Now, data: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": w.meta("Pod", name), "spec": t["spec"],
		"status": map[string]any{"phase": "Pending"},
	}}
	m := p.data["metadata"].(map[string]any)
	m["labels"], m["ownerReferences"] = t["metadata"].(map[string]any)["labels"], owner("ReplicaSet", rs)
	return p
}

func (w *World) kubelet() {
	w.pods = slices.DeleteFunc(w.pods, func(p *object) bool { return !p.ending.IsZero() && !w.Now.Before(p.ending) })
	for _, p := range w.pods {
		c := get(p.data, "spec", "containers").([]any)[0]
		image := str(c, "image")
		switch {
		case w.RegistryDown && !podReady(p):
			w.waiting(p, c, "RegistryUnavailable")
		case !slices.Contains(w.Images, image):
			p.pulls++
			w.waiting(p, c, map[bool]string{true: "ErrImagePull", false: "ImagePullBackOff"}[p.pulls%4 == 1])
		case w.Now.Sub(p.created) >= w.ReadyAfter:
			p.data["status"] = map[string]any{
				"phase":             "Running",
				"conditions":        []any{map[string]any{"type": "Ready", "status": "True"}},
				"containerStatuses": []any{map[string]any{"name": str(c, "name"), "ready": true, "restartCount": int64(0), "state": map[string]any{"running": map[string]any{}}}},
			}
		}
	}
}

func (w *World) waiting(p *object, container any, reason string) {
	p.data["status"] = map[string]any{
		"phase":      "Pending",
		"conditions": []any{map[string]any{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}},
		"containerStatuses": []any{map[string]any{"name": str(container, "name"), "restartCount": int64(0), "state": map[string]any{
			"waiting": map[string]any{"reason": reason, "message": "as the runtime says"}}}},
	}
}

func (w *World) status() {
	for _, rs := range w.sets {
		n := int64(len(w.podsOf(rs)))
		rs.data["status"] = map[string]any{"replicas": n, "readyReplicas": w.readyOf(rs)}
	}
	for _, d := range w.deploys {
		s := d.data["status"].(map[string]any)
		var all, ready int64
		newest := w.setFor(d)
		for _, rs := range w.sets {
			all += int64(len(w.podsOf(rs)))
			ready += w.readyOf(rs)
		}
		s["replicas"], s["availableReplicas"], s["readyReplicas"] = all, ready, ready
		s["updatedReplicas"] = int64(len(w.podsOf(newest)))
		s["conditions"] = []any{map[string]any{"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}}
	}
}

func get(o any, path ...string) any {
	for _, p := range path {
		m, _ := o.(map[string]any)
		o = m[p]
	}
	return o
}

func str(o any, path ...string) string { s, _ := get(o, path...).(string); return s }
func num(o any, path ...string) int64  { n, _ := get(o, path...).(int64); return n }

func copied(m map[string]any) map[string]any { return deep(m).(map[string]any) }

func deep(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for k, e := range v {
			c[k] = deep(e)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = deep(e)
		}
		return c
	}
	return v
}

// Waits gives the first waiting reason of a Pod.
func Waits(pod map[string]any) string {
	l, _ := get(pod, "status", "containerStatuses").([]any)
	if len(l) == 0 {
		return ""
	}
	return strings.TrimSpace(str(l[0], "state", "waiting", "reason"))
}
