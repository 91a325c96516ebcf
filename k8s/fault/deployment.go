package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/util/retry"
	"k8s.io/kubectl/pkg/cmd/create"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"labbot/scenarios/engine"
)

func (e *Executor) createDeployment(ctx context.Context, o Owner, in engine.CreateDeployment) engine.Result {
	if _, err := e.enter(ctx, o, o.Namespace); err != nil {
		return outcome(err)
	}
	want, err := deploymentFor(o.Namespace, in)
	if err != nil {
		return failed("", err.Error())
	}
	deployments := e.Typed.AppsV1().Deployments(o.Namespace)
	got, err := deployments.Create(ctx, want, metav1.CreateOptions{FieldManager: FieldManager})
	if err == nil {
		return done(fmt.Sprintf("deployment.apps/%s created", got.Name), got.UID)
	}
	if !apierrors.IsAlreadyExists(err) {
		return outcome(err)
	}
	taken := err
	if got, err = deployments.Get(ctx, in.Name, metav1.GetOptions{}); err != nil {
		return outcome(err)
	}
	// Inside the run's own namespace the same spec is this run's earlier attempt.
	if diff := specDiff(want, got); diff != "" {
		return failed(reason(taken), fmt.Sprintf("%s: %s", taken, diff))
	}
	return done(fmt.Sprintf("deployment.apps/%s is there already, as wanted", got.Name), got.UID)
}

// deploymentFor runs kubectl's own `create deployment` as a client-side dry run,
// so that the object is kubectl's in every detail.
func deploymentFor(namespace string, in engine.CreateDeployment) (*appsv1.Deployment, error) {
	if in.Name == "" || in.Image == "" || in.Replicas < 0 || in.Replicas > math.MaxInt32 {
		return nil, fmt.Errorf("deployment %q, image %q, replicas %d: want a name, an image and a number of replicas", in.Name, in.Image, in.Replicas)
	}
	var made *appsv1.Deployment
	opts := create.NewCreateDeploymentOptions(genericiooptions.NewTestIOStreamsDiscard())
	opts.Name, opts.Images, opts.Replicas = in.Name, []string{in.Image}, int32(in.Replicas)
	opts.Namespace, opts.EnforceNamespace = namespace, true
	opts.DryRunStrategy = cmdutil.DryRunClient
	opts.PrintObj = func(obj runtime.Object) error {
		made, _ = obj.(*appsv1.Deployment)
		return nil
	}
	if err := errors.Join(opts.Validate(), opts.Run()); err != nil {
		return nil, fmt.Errorf("make deployment %s: %w", in.Name, err)
	}
	if made == nil {
		return nil, fmt.Errorf("make deployment %s: kubectl's generator gave no Deployment", in.Name)
	}
	return made, nil
}

// specDiff says how a Deployment differs from the one wanted in what a lab
// depends on. The container's name is left out: kubectl makes it random for
// images whose name holds a dot.
func specDiff(want, got *appsv1.Deployment) string {
	containers := got.Spec.Template.Spec.Containers
	switch {
	case len(containers) != 1:
		return fmt.Sprintf("it has %d containers, 1 wanted", len(containers))
	case containers[0].Image != want.Spec.Template.Spec.Containers[0].Image:
		return fmt.Sprintf("its image is %s, %s wanted", containers[0].Image, want.Spec.Template.Spec.Containers[0].Image)
	case got.Spec.Replicas == nil || *got.Spec.Replicas != *want.Spec.Replicas:
		return fmt.Sprintf("its replicas differ from the %d wanted", *want.Spec.Replicas)
	case metav1.FormatLabelSelector(got.Spec.Selector) != metav1.FormatLabelSelector(want.Spec.Selector):
		return fmt.Sprintf("its selector is %s", metav1.FormatLabelSelector(got.Spec.Selector))
	}
	return ""
}

func (e *Executor) setImage(ctx context.Context, o Owner, in engine.SetImage) engine.Result {
	if r, ok := e.admitDeployment(ctx, o, in.Target); !ok {
		return r
	}
	var result engine.Result
	// The status of a Deployment under rollout moves often, and each move is a
	// new resourceVersion: a conflict is looked at again, not reported.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		result, err = e.patchImage(ctx, in)
		return err
	})
	if err != nil {
		return outcome(err)
	}
	return result
}

func (e *Executor) patchImage(ctx context.Context, in engine.SetImage) (engine.Result, error) {
	deployments := e.Typed.AppsV1().Deployments(in.Target.Namespace)
	d, err := deployments.Get(ctx, in.Target.Name, metav1.GetOptions{})
	if err != nil {
		return engine.Result{}, err
	}
	if r, ok := sameUID(in.Target, d.UID); !ok {
		return r, nil
	}
	containers := d.Spec.Template.Spec.Containers
	if in.Container < 0 || in.Container >= len(containers) {
		return failed("", fmt.Sprintf("deployment %q has %d containers, none with index %d", d.Name, len(containers), in.Container)), nil
	}
	c := containers[in.Container]
	if c.Image == in.Image {
		return done(fmt.Sprintf("container %s has image %s already", c.Name, c.Image), d.UID), nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": d.UID, "resourceVersion": d.ResourceVersion},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": c.Name, "image": in.Image}},
		}}},
	})
	if err != nil {
		return engine.Result{}, err
	}
	after, err := deployments.Patch(ctx, d.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
	if err != nil {
		return engine.Result{}, err
	}
	return done(fmt.Sprintf("container %s: image %s → %s, generation %d → %d", c.Name, c.Image, in.Image, d.Generation, after.Generation), after.UID), nil
}

// admitDeployment passes a target that is a Deployment of the run's namespace.
func (e *Executor) admitDeployment(ctx context.Context, o Owner, ref engine.Ref) (engine.Result, bool) {
	if ref.Kind != "Deployment" || ref.APIVersion != "apps/v1" {
		return failed("", fmt.Sprintf("%s %s: this action knows apps/v1 Deployment only", ref.APIVersion, ref.Kind)), false
	}
	if _, err := e.enter(ctx, o, ref.Namespace); err != nil {
		return outcome(err), false
	}
	return engine.Result{}, true
}

// sameUID refuses an object that only shares its name with the one meant.
func sameUID(ref engine.Ref, uid types.UID) (engine.Result, bool) {
	if ref.UID == "" || ref.UID == string(uid) {
		return engine.Result{}, true
	}
	return failed(string(metav1.StatusReasonConflict),
		fmt.Sprintf("%s %q is another one now: its UID is %s, not %s", ref.Kind, ref.Name, uid, ref.UID)), false
}
