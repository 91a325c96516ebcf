package evidence

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"labbot/scenarios/engine"
)

// reading gives what is known of a Watch now. silence, if not empty, says why
// nothing at all is known of the cluster.
func (v *view) reading(now time.Time, silence string) engine.Reading {
	r := engine.Reading{List: v.List}
	lasting, newest := v.feed.health.trouble(now)
	v.store.mu.RLock()
	defer v.store.mu.RUnlock()
	switch {
	case silence != "":
		r.Err = silence
	case lasting != nil:
		r.Err = lasting.Error()
	case !v.store.synced && newest != nil:
		r.Err = newest.Error()
	case !v.store.synced:
		r.Err = "the first list is not in yet"
	default:
		r.Known = true
	}
	if !r.Known {
		return r
	}
	if v.List {
		r.Items = v.items()
	} else if u := v.store.objects[key(v.namespace, v.Name)]; u != nil {
		r.Object = runtime.DeepCopyJSON(u.Object)
	}
	return r
}

// items are copies of the objects that match, ordered by creation then name.
func (v *view) items() []map[string]any {
	var found []*unstructured.Unstructured
	for _, u := range v.store.objects {
		if (v.Name == "" || v.Name == u.GetName()) && v.selector.Matches(labels.Set(u.GetLabels())) {
			found = append(found, u)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), strings.Compare(a.GetName(), b.GetName()))
	})
	items := make([]map[string]any, len(found))
	for i, u := range found {
		items[i] = runtime.DeepCopyJSON(u.Object)
	}
	return items
}
