package fault

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// labName is the only form of a namespace name that labbot writes to; the
// admission policy shipped with it holds the same pattern.
var labName = regexp.MustCompile(`^(lab|k8s)-[a-z0-9-]{1,50}$`)

// refusal is the guard's answer to a write outside the run's own namespace.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

// nameAllowed refuses every namespace but the run's own, by name alone.
func nameAllowed(o Owner, namespace string) error {
	switch {
	case namespace == "":
		return &refusal{"refused: labbot writes only inside a lab namespace, and none is named here"}
	case namespace == metav1.NamespaceDefault || strings.HasPrefix(namespace, "kube-"):
		return &refusal{fmt.Sprintf("refused: namespace %q belongs to the cluster, labbot never writes to it", namespace)}
	case !labName.MatchString(namespace):
		return &refusal{fmt.Sprintf("refused: namespace %q has no name of a lab (lab-… or k8s-…)", namespace)}
	case namespace != o.Namespace:
		return &refusal{fmt.Sprintf("refused: namespace %q is not that of run %s (%q)", namespace, o.Run, o.Namespace)}
	}
	return nil
}

// own tells whether a namespace carries the labels of the run.
func own(o Owner, ns *corev1.Namespace) bool {
	return ns.Labels[LabelOwned] == "true" && o.Run != "" && ns.Labels[LabelRun] == string(o.Run)
}

// Owned tells whether a namespace was made by labbot, by any run of it, and has
// a name that labbot may write to.
func Owned(ns *corev1.Namespace) bool {
	return ns.Labels[LabelOwned] == "true" && ns.Labels[LabelRun] != "" && labName.MatchString(ns.Name)
}

// enter is asked before every write inside a namespace. It reads the namespace
// anew each time: there are a handful of writes in a run, and a remembered
// answer could belong to a namespace that has been replaced since.
func (e *Executor) enter(ctx context.Context, o Owner, namespace string) (*corev1.Namespace, error) {
	if err := nameAllowed(o, namespace); err != nil {
		return nil, err
	}
	ns, err := e.Typed.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if !own(o, ns) {
		return nil, notOurs(o, ns)
	}
	return ns, nil
}

func notOurs(o Owner, ns *corev1.Namespace) error {
	if run := ns.Labels[LabelRun]; Owned(ns) {
		return &refusal{fmt.Sprintf("namespace %q exists and belongs to run %s, not to run %s; nothing was touched", ns.Name, run, o.Run)}
	}
	return &refusal{fmt.Sprintf("namespace %q exists and was not made by labbot; nothing was touched", ns.Name)}
}
