package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/polymorphichelpers"
	deploymentutil "k8s.io/kubectl/pkg/util/deployment"

	"labbot/scenarios/engine"
)

// undoTries bounds the looks at the history within one attempt: somebody else's
// rollback may renumber the revision between our look and kubectl's.
const undoTries = 3

func (e *Executor) undo(ctx context.Context, o Owner, in engine.Undo) engine.Result {
	if r, ok := e.admitDeployment(ctx, o, in.Target); !ok {
		return r
	}
	template, err := podTemplate(in.Template)
	if err != nil {
		return failed("", err.Error())
	}
	var r engine.Result
	for range undoTries {
		var again bool
		if r, again = e.undoOnce(ctx, in.Target, template); !again {
			break
		}
	}
	return r
}

// undoOnce looks and acts once. again says that the failure may come from a
// history that moved meanwhile.
func (e *Executor) undoOnce(ctx context.Context, ref engine.Ref, template *corev1.PodTemplateSpec) (r engine.Result, again bool) {
	d, err := e.Typed.AppsV1().Deployments(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return outcome(err), false
	}
	if r, ok := sameUID(ref, d.UID); !ok {
		return r, false
	}
	before := revision(d)
	if sameTemplate(&d.Spec.Template, template) {
		return done(fmt.Sprintf("the template is that of the baseline already, revision %d", before), d.UID), false
	}
	to, err := e.revisionOf(ctx, d, template)
	if err != nil {
		return outcome(err), false
	}
	if to == 0 {
		return failed(string(metav1.StatusReasonNotFound),
			fmt.Sprintf("no ReplicaSet of deployment %q holds the baseline's template any more, so there is nothing to roll back to", d.Name)), false
	}
	if err := e.rollback(ctx, d, to); err != nil {
		var denied *kubectlError
		return outcomeOfRollback(err), errors.As(err, &denied) && !d.Spec.Paused
	}
	return done(e.rolledBack(ctx, d, before, to), d.UID), false
}

// kubectlError is an answer of kubectl's rollback code that the connection is
// not to blame for. kubectl gives it as text only.
type kubectlError struct{ words string }

func (k *kubectlError) Error() string { return k.words }

func outcomeOfRollback(err error) engine.Result {
	if k, ok := errors.AsType[*kubectlError](err); ok {
		return failed("", k.words)
	}
	return outcome(err)
}

// rollback is kubectl's own, to an explicit revision: revision 0 means "the one
// before", which after two undos is the broken one again.
func (e *Executor) rollback(ctx context.Context, d *appsv1.Deployment, to int64) error {
	c, err := e.Bind(ctx)
	if err != nil {
		return err
	}
	roller, err := polymorphichelpers.RollbackerFor(appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind(), c)
	if err != nil {
		return err
	}
	_, err = roller.Rollback(d, nil, to, cmdutil.DryRunNone)
	switch trouble := c.Trouble(); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	case trouble != nil:
		return fmt.Errorf("%w: %w", err, trouble)
	}
	return &kubectlError{err.Error()}
}

// rolledBack words the outcome. The controller gives the new revision its number
// after the patch, as a rule within a fraction of a second.
func (e *Executor) rolledBack(ctx context.Context, d *appsv1.Deployment, before, to int64) string {
	now := before
	_ = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 2*time.Second, true, func(ctx context.Context) (bool, error) {
		got, err := e.Typed.AppsV1().Deployments(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err == nil {
			now = revision(got)
		}
		return now != before, nil
	})
	if now == before {
		return fmt.Sprintf("rolled back to revision %d", to)
	}
	return fmt.Sprintf("rolled back to revision %d, now revision %d", to, now)
}

// revisionOf finds the revision whose ReplicaSet holds the template, 0 for none.
func (e *Executor) revisionOf(ctx context.Context, d *appsv1.Deployment, template *corev1.PodTemplateSpec) (int64, error) {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return 0, fmt.Errorf("selector of deployment %s: %w", d.Name, err)
	}
	sets, err := e.Typed.AppsV1().ReplicaSets(d.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return 0, err
	}
	var found int64
	for i := range sets.Items {
		rs := &sets.Items[i]
		if !metav1.IsControlledBy(rs, d) || !sameTemplate(&rs.Spec.Template, template) {
			continue
		}
		if n, err := deploymentutil.Revision(rs); err == nil {
			found = max(found, n)
		}
	}
	return found, nil
}

func revision(d *appsv1.Deployment) int64 {
	n, _ := deploymentutil.Revision(d) // absent until the controller has seen it
	return n
}

func podTemplate(m map[string]any) (*corev1.PodTemplateSpec, error) {
	if len(m) == 0 {
		return nil, errors.New("no template to return to is recorded")
	}
	// Through JSON and not the unstructured converter: a template that has been
	// stored holds its whole numbers as float64.
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("read the recorded template: %w", err)
	}
	var t corev1.PodTemplateSpec
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, fmt.Errorf("read the recorded template: %w", err)
	}
	return &t, nil
}

// sameTemplate compares as kubectl and the deployment-controller do: without the
// hash label that the controller adds to a ReplicaSet's copy.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(b.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return apiequality.Semantic.DeepEqual(a, b)
}
