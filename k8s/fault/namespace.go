package fault

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"

	"labbot/scenarios/engine"
)

// podSecurity is the enforced level: the labs' own images run as root, which
// "restricted" refuses before the lesson begins.
const podSecurity = "baseline"

func (e *Executor) createNamespace(ctx context.Context, o Owner, in engine.CreateNamespace) engine.Result {
	if err := nameAllowed(o, in.Name); err != nil {
		return outcome(err)
	}
	want, err := namespaceFor(o)
	if err != nil {
		return failed("", err.Error())
	}
	namespaces := e.Typed.CoreV1().Namespaces()
	ns, err := namespaces.Create(ctx, want, metav1.CreateOptions{FieldManager: FieldManager})
	made := err == nil
	if apierrors.IsAlreadyExists(err) {
		ns, err = namespaces.Get(ctx, in.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return pending("", fmt.Sprintf("namespace %q has just gone, creating it again", in.Name), "")
		}
	}
	switch {
	case err != nil:
		return outcome(err)
	case ns.Status.Phase == corev1.NamespaceTerminating || ns.DeletionTimestamp != nil:
		return pending("Terminating", fmt.Sprintf("namespace %q is still being deleted: %s", ns.Name, remains(ns)), "")
	case !own(o, ns):
		return outcome(notOurs(o, ns))
	}
	return e.opened(ctx, ns, made)
}

// opened waits a moment for what the controllers add to a new namespace. Without
// the ServiceAccount the first Pods of the lab would be refused.
func (e *Executor) opened(ctx context.Context, ns *corev1.Namespace, made bool) engine.Result {
	_, err := e.Typed.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
	poll := func(ctx context.Context) (bool, error) {
		_, err = e.Typed.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
		return !apierrors.IsNotFound(err), nil
	}
	if apierrors.IsNotFound(err) {
		_ = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 1500*time.Millisecond, false, poll)
	}
	switch {
	case apierrors.IsNotFound(err):
		return pending("", fmt.Sprintf("namespace %q is there, its ServiceAccount \"default\" is not yet", ns.Name), ns.UID)
	case err != nil:
		r := outcome(err)
		r.UID = string(ns.UID)
		return r
	case made:
		return done(fmt.Sprintf("namespace %q created", ns.Name), ns.UID)
	}
	return done(fmt.Sprintf("namespace %q is there already, made by this run", ns.Name), ns.UID)
}

func namespaceFor(o Owner) (*corev1.Namespace, error) {
	if msgs := validation.IsValidLabelValue(string(o.Run)); o.Run == "" || len(msgs) > 0 {
		return nil, fmt.Errorf("run id %q cannot stand in a label: %s", o.Run, strings.Join(msgs, "; "))
	}
	if o.Expires.IsZero() {
		return nil, fmt.Errorf("namespace %q of run %s has no expiry: it could outlive its run", o.Namespace, o.Run)
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: o.Namespace,
		Labels: map[string]string{
			LabelOwned:                           "true",
			LabelRun:                             string(o.Run),
			LabelCohort:                          labelValue(string(o.Cohort)),
			LabelScenario:                        labelValue(o.Scenario),
			"pod-security.kubernetes.io/enforce": podSecurity,
			"pod-security.kubernetes.io/warn":    podSecurity,
			"pod-security.kubernetes.io/audit":   podSecurity,
		},
		Annotations: map[string]string{AnnotationExpires: o.Expires.UTC().Format(time.RFC3339)},
	}}, nil
}

var notLabel = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// labelValue makes a cohort's or scenario's name fit a label value, which is at
// most 63 characters. These labels inform people; nothing is decided by them.
func labelValue(s string) string {
	s = notLabel.ReplaceAllString(s, "-")
	if len(s) > validation.LabelValueMaxLength {
		s = s[:validation.LabelValueMaxLength]
	}
	return strings.Trim(s, "._-")
}

func (e *Executor) deleteNamespace(ctx context.Context, o Owner, in engine.DeleteNamespace) engine.Result {
	if err := nameAllowed(o, in.Name); err != nil {
		return outcome(err)
	}
	if in.UID == "" {
		return failed("", fmt.Sprintf("namespace %q is deleted only by its UID, and the intent has none", in.Name))
	}
	ns, gone, r := e.lookNamespace(ctx, in.Name, types.UID(in.UID))
	switch {
	case gone:
		return r
	case ns == nil:
		return r
	case !own(o, ns):
		return outcome(notOurs(o, ns))
	case ns.DeletionTimestamp == nil:
		if err := DeleteNamespace(ctx, e.Typed, in.Name, ns.UID); err != nil {
			return outcome(err)
		}
		if ns, gone, r = e.lookNamespace(ctx, in.Name, types.UID(in.UID)); ns == nil || gone {
			return r
		}
	}
	return pending("Terminating", remains(ns), ns.UID)
}

// lookNamespace reads a namespace by name and UID. gone with a done result says
// that this very namespace is no more; a nil namespace that is not gone is
// trouble, and the result says which.
func (e *Executor) lookNamespace(ctx context.Context, name string, uid types.UID) (_ *corev1.Namespace, gone bool, _ engine.Result) {
	ns, err := e.Typed.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, true, done(err.Error(), uid)
	case err != nil:
		return nil, false, outcome(err)
	case ns.UID != uid:
		return nil, true, done(fmt.Sprintf("namespace %q of this run is gone; the one there now is another (UID %s)", name, ns.UID), uid)
	}
	return ns, false, engine.Result{}
}
