package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// namespace is a namespace of its own for one test, removed with proof.
type namespace struct {
	*cluster
	t    *testing.T
	name string
}

func (c *cluster) namespace(t *testing.T, name string) *namespace {
	t.Helper()
	n := &namespace{c, t, name}
	ctx := t.Context()
	if _, err := c.client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.remove(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// remove deletes the namespace and waits for NotFound.
func (n *namespace) remove() error {
	err := n.client.CoreV1().Namespaces().Delete(context.Background(), n.name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return poll(2*stepTimeout, func(ctx context.Context) error {
		_, err := n.client.CoreV1().Namespaces().Get(ctx, n.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("namespace %s is still there (%v)", n.name, err)
	})
}

func webDeployment(change func(*v1.PodSpec)) *appsv1.Deployment {
	labels, replicas := map[string]string{"app": "web"}, int32(2)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "nginx", Image: "nginx:1.29-alpine"}}},
			},
		},
	}
	if change != nil {
		change(&d.Spec.Template.Spec)
	}
	return d
}

func (n *namespace) create(d *appsv1.Deployment) {
	n.t.Helper()
	if _, err := n.client.AppsV1().Deployments(n.name).Create(n.t.Context(), d, metav1.CreateOptions{}); err != nil {
		n.t.Fatal(err)
	}
}

// patch changes the Deployment's Pod template by a strategic merge patch.
func (n *namespace) patch(spec string) {
	n.t.Helper()
	body := `{"spec":{"template":{"spec":` + spec + `}}}`
	if _, err := n.client.AppsV1().Deployments(n.name).Patch(n.t.Context(), "web", types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
		n.t.Fatal(err)
	}
}

func (n *namespace) awaitRollout() {
	n.t.Helper()
	eventually(n.t, stepTimeout, func(ctx context.Context) error {
		d, err := n.client.AppsV1().Deployments(n.name).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		s := d.Status
		if s.ObservedGeneration < d.Generation || s.UpdatedReplicas != *d.Spec.Replicas || s.Replicas != *d.Spec.Replicas || s.AvailableReplicas != *d.Spec.Replicas {
			return fmt.Errorf("rollout not complete: %+v", s)
		}
		return nil
	})
}

func (n *namespace) pods(ctx context.Context) ([]v1.Pod, error) {
	list, err := n.client.CoreV1().Pods(n.name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// awaitPod waits until one Pod fulfils the condition.
func (n *namespace) awaitPod(what string, is func(*v1.Pod) bool) *v1.Pod {
	n.t.Helper()
	var found *v1.Pod
	eventually(n.t, 2*stepTimeout, func(ctx context.Context) error {
		pods, err := n.pods(ctx)
		if err != nil {
			return err
		}
		var seen []string
		for i := range pods {
			if is(&pods[i]) {
				found = &pods[i]
				return nil
			}
			seen = append(seen, describe(&pods[i]))
		}
		return fmt.Errorf("no Pod with %s; there are %s", what, strings.Join(seen, ", "))
	})
	return found
}

func describe(p *v1.Pod) string {
	var states []string
	for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		states = append(states, fmt.Sprintf("%s state=%+v last=%+v", s.Name, s.State, s.LastTerminationState))
	}
	return p.Name + "(" + string(p.Status.Phase) + " " + strings.Join(states, "; ") + ")"
}

// awaitEvent waits for an Event of that reporter, reason and text.
func (n *namespace) awaitEvent(component, kind, reason, text string) {
	n.t.Helper()
	eventually(n.t, 2*stepTimeout, func(ctx context.Context) error {
		list, err := n.client.CoreV1().Events(n.name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var seen []string
		for _, e := range list.Items {
			from := e.Source.Component
			if from == "" {
				from = e.ReportingController
			}
			if from == component && e.Type == kind && e.Reason == reason && strings.Contains(e.Message, text) {
				return nil
			}
			seen = append(seen, fmt.Sprintf("%s %s %s %q", from, e.Type, e.Reason, e.Message))
		}
		return fmt.Errorf("no Event %s %s %s %q; there are:\n%s", component, kind, reason, text, strings.Join(seen, "\n"))
	})
}

func isReady(p *v1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

func waitsFor(reasons ...string) func(*v1.Pod) bool {
	return func(p *v1.Pod) bool {
		for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
			for _, r := range reasons {
				if s.State.Waiting != nil && s.State.Waiting.Reason == r {
					return true
				}
			}
		}
		return false
	}
}

func (n *namespace) logs(pod string, opts v1.PodLogOptions) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	data, err := n.client.CoreV1().Pods(n.name).GetLogs(pod, &opts).DoRaw(ctx)
	return string(data), err
}

func (n *namespace) get(pod, port, path string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	data, err := n.client.CoreV1().Pods(n.name).ProxyGet("http", pod, port, path, nil).DoRaw(ctx)
	return string(data), err
}
