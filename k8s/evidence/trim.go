package evidence

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// bigAnnotation is the size in bytes from which an annotation is dropped: tools
// keep whole manifests in them, and every snapshot would carry them along.
const bigAnnotation = 4 << 10

// trim drops what no scenario reads and every snapshot would pay for. Of
// managedFields it keeps who wrote when, but not which fields.
func trim(u *unstructured.Unstructured) {
	metadata, _ := u.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, e := range entries {
		if entry, ok := e.(map[string]any); ok {
			delete(entry, "fieldsV1")
			delete(entry, "fieldsType")
		}
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	for name, v := range annotations {
		value, _ := v.(string)
		if name == corev1.LastAppliedConfigAnnotation || len(value) > bigAnnotation {
			delete(annotations, name)
		}
	}
}
