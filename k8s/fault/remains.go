package fault

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// DeleteNamespace asks for the deletion of one namespace by name and UID, as
// kubectl does, without waiting. A namespace that is gone, or replaced by
// another of the same name, is no error: the precondition keeps the other safe.
func DeleteNamespace(ctx context.Context, c kubernetes.Interface, name string, uid types.UID) error {
	background := metav1.DeletePropagationBackground
	err := c.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid},
		PropagationPolicy: &background,
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// remains tells, in the namespace controller's own words, what keeps a
// namespace from going.
func remains(ns *corev1.Namespace) string {
	var words []string
	for _, c := range ns.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			words = append(words, string(c.Type)+": "+c.Message)
		}
	}
	if len(words) == 0 {
		return "phase Terminating, nothing reported as remaining yet"
	}
	return strings.Join(words, "; ")
}

// Remains tells what keeps a namespace under deletion from going, or "" when it
// is not under deletion.
func Remains(ns *corev1.Namespace) string {
	if ns.DeletionTimestamp == nil {
		return ""
	}
	return remains(ns)
}
