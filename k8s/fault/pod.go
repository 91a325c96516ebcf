package fault

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labbot/scenarios/engine"
)

func (e *Executor) deletePod(ctx context.Context, o Owner, in engine.DeletePod) engine.Result {
	ref := in.Target
	if ref.Kind != "Pod" || ref.UID == "" {
		return failed("", fmt.Sprintf("%s %q (UID %q): want a Pod with its UID", ref.Kind, ref.Name, ref.UID))
	}
	uid := types.UID(ref.UID)
	if _, err := e.enter(ctx, o, ref.Namespace); err != nil {
		if apierrors.IsNotFound(err) {
			return done(err.Error(), uid)
		}
		return outcome(err)
	}
	pods := e.Typed.CoreV1().Pods(ref.Namespace)
	pod, err := pods.Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return done(err.Error(), uid)
	case err != nil:
		return outcome(err)
	case pod.UID != uid:
		return done(fmt.Sprintf("pod %q of UID %s is gone; another has its name", ref.Name, ref.UID), uid)
	case pod.DeletionTimestamp != nil:
		return done(fmt.Sprintf("pod %q is being deleted already", ref.Name), uid)
	}
	background := metav1.DeletePropagationBackground // what kubectl sends
	err = pods.Delete(ctx, ref.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid},
		PropagationPolicy: &background,
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return outcome(err)
	}
	return done(fmt.Sprintf("pod %q deleted", ref.Name), uid)
}
