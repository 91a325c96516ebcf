package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/distribution/reference"
)

// Reading of objects in JSON form. Absent fields and fields of a wrong type give
// the zero value: objects come from an API server, but also from tests and fuzz.

func dig(o any, path ...string) any {
	for _, p := range path {
		m, ok := o.(map[string]any)
		if !ok {
			return nil
		}
		o = m[p]
	}
	return o
}

func digString(o any, path ...string) string {
	s, _ := dig(o, path...).(string)
	return s
}

func digMap(o any, path ...string) map[string]any {
	m, _ := dig(o, path...).(map[string]any)
	return m
}

func digList(o any, path ...string) []any {
	l, _ := dig(o, path...).([]any)
	return l
}

// digInt gives a whole number and whether it is there.
func digInt(o any, path ...string) (int64, bool) {
	switch n := dig(o, path...).(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case float64:
		return int64(n), n == float64(int64(n))
	case json.Number:
		v, err := n.Int64()
		return v, err == nil
	}
	return 0, false
}

func intOr0(o any, path ...string) int64 {
	n, _ := digInt(o, path...)
	return n
}

func uidOf(o any) string  { return digString(o, "metadata", "uid") }
func nameOf(o any) string { return digString(o, "metadata", "name") }

func terminating(o any) bool { return digString(o, "metadata", "deletionTimestamp") != "" }

// controllerOf gives the UID of the owner that controls an object, or empty.
func controllerOf(o any) string {
	for _, r := range digList(o, "metadata", "ownerReferences") {
		if yes, _ := dig(r, "controller").(bool); yes {
			return digString(r, "uid")
		}
	}
	return ""
}

// condition is one status condition. Status is "Unknown" when it is absent or
// speaks of an older generation than the object's.
type condition struct{ Status, Reason, Message string }

func conditionOf(o any, kind string) condition {
	generation := intOr0(o, "metadata", "generation")
	if seen, ok := digInt(o, "status", "observedGeneration"); ok && seen < generation {
		return condition{Status: "Unknown"}
	}
	for _, c := range digList(o, "status", "conditions") {
		if digString(c, "type") != kind {
			continue
		}
		if seen, ok := digInt(c, "observedGeneration"); ok && seen < generation {
			break
		}
		return condition{digString(c, "status"), digString(c, "reason"), digString(c, "message")}
	}
	return condition{Status: "Unknown"}
}

func isLive(o any) bool {
	phase := digString(o, "status", "phase")
	return o != nil && !terminating(o) && phase != "Failed" && phase != "Succeeded"
}

func isReady(pod any) bool {
	return !terminating(pod) && conditionOf(pod, "Ready").Status == "True"
}

// containerStatuses gives the statuses of init containers, then of containers.
func containerStatuses(pod any) []any {
	return slices.Concat(digList(pod, "status", "initContainerStatuses"), digList(pod, "status", "containerStatuses"))
}

func waitingReasons(pod any) []string {
	reasons := []string{}
	for _, c := range containerStatuses(pod) {
		if r := digString(c, "state", "waiting", "reason"); r != "" {
			reasons = append(reasons, r)
		}
	}
	return reasons
}

// exitsOf gives {reason, exitCode} of every end of a container that the status
// still knows.
func exitsOf(pod any) []any {
	exits := []any{}
	for _, c := range containerStatuses(pod) {
		for _, when := range []string{"state", "lastState"} {
			if t := digMap(c, when, "terminated"); t != nil {
				exits = append(exits, map[string]any{"reason": digString(t, "reason"), "exitCode": intOr0(t, "exitCode")})
			}
		}
	}
	return exits
}

func restartsOf(pod any) int64 {
	var n int64
	for _, c := range containerStatuses(pod) {
		n += intOr0(c, "restartCount")
	}
	return n
}

// podSpec gives the Pod spec of a Pod or of a workload's template.
func podSpec(o any) map[string]any {
	if s := digMap(o, "spec", "template", "spec"); s != nil {
		return s
	}
	if s := digMap(o, "spec", "jobTemplate", "spec", "template", "spec"); s != nil {
		return s
	}
	return digMap(o, "spec")
}

func imagesOf(o any) []string {
	images := []string{}
	for _, c := range digList(podSpec(o), "containers") {
		if i := digString(c, "image"); i != "" {
			images = append(images, i)
		}
	}
	return images
}

const hashLabel = "pod-template-hash"

// templateOf gives a workload's Pod template without the label that the
// Deployment controller adds in ReplicaSets; nil when there is none.
func templateOf(o any) map[string]any {
	t := digMap(o, "spec", "template")
	if t == nil {
		t = digMap(o, "spec", "jobTemplate", "spec", "template")
	}
	labels := digMap(t, "metadata", "labels")
	if _, ok := labels[hashLabel]; !ok {
		return t
	}
	labels = maps.Clone(labels)
	delete(labels, hashLabel)
	t, meta := maps.Clone(t), maps.Clone(digMap(t, "metadata"))
	meta["labels"], t["metadata"] = labels, meta
	return t
}

const revisionAnnotation = "deployment.kubernetes.io/revision"

// revisionsOf gives the revisions of the ReplicaSets that a Deployment controls,
// in rising order.
func revisionsOf(deployment any, replicaSets []any) []int64 {
	revs := []int64{}
	for _, rs := range replicaSets {
		if uid := uidOf(deployment); uid == "" || controllerOf(rs) != uid {
			continue
		}
		if n, err := strconv.ParseInt(digString(rs, "metadata", "annotations", revisionAnnotation), 10, 64); err == nil {
			revs = append(revs, n)
		}
	}
	slices.Sort(revs)
	return slices.Compact(revs)
}

// addressesOf gives the ready addresses over all EndpointSlices of a Service.
func addressesOf(service any, endpointSlices []any) []string {
	found := map[string]bool{}
	for _, s := range endpointSlices {
		if nameOf(service) == "" || digString(s, "metadata", "labels", "kubernetes.io/service-name") != nameOf(service) {
			continue
		}
		for _, e := range digList(s, "endpoints") {
			// An absent ready means ready (discovery/v1 EndpointConditions).
			if ready, set := dig(e, "conditions", "ready").(bool); set && !ready {
				continue
			}
			for _, a := range digList(e, "addresses") {
				if a, ok := a.(string); ok {
					found[a] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// repoOf gives the repository of an image as the course writes it: without tag,
// digest and the lab's own registry. What is no image reference comes back as it is.
func repoOf(image string, registries map[string]string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return image
	}
	full := named.Name()
	for _, course := range slices.Sorted(maps.Keys(registries)) {
		if rest, ok := cutPrefixPath(full, registries[course]); ok {
			return repoOf(course+rest, nil)
		}
	}
	return reference.FamiliarName(named)
}

// mapImage puts a course reference onto the lab's registry. The longest prefix
// wins, and the tag is kept.
func mapImage(image string, registries map[string]string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return image
	}
	best := ""
	for course := range registries {
		if _, ok := cutPrefixPath(named.Name(), course); ok && len(course) > len(best) {
			best = course
		}
	}
	if best == "" {
		return image
	}
	rest, _ := cutPrefixPath(named.String(), best)
	return registries[best] + rest
}

// cutPrefixPath cuts a prefix that ends where a path part ends.
func cutPrefixPath(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || prefix == "" || s[:len(prefix)] != prefix {
		return "", false
	}
	rest := s[len(prefix):]
	return rest, rest == "" || rest[0] == '/' || rest[0] == ':' || rest[0] == '@'
}

// trimmed gives a deep copy of an object as it is kept with a run: without the
// parts that no expression needs and that are large.
func trimmed(o map[string]any) map[string]any {
	c, _ := plain(o).(map[string]any)
	meta := digMap(c, "metadata")
	delete(meta, "managedFields")
	delete(digMap(meta, "annotations"), "kubectl.kubernetes.io/last-applied-configuration")
	return c
}

// plain gives a deep copy of a JSON value with one form for each number: int64
// when it is whole, else float64. So it is the same before and after JSON.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return nil
		}
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = plain(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = plain(e)
		}
		return l
	case []string:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = e
		}
		return l
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case float64:
		if w := int64(v); float64(w) == v && w > -(1<<53) && w < 1<<53 {
			return w
		}
		return v
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return plain(f)
	}
	return v
}
