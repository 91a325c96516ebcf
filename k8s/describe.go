package k8s

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubectl/pkg/describe"

	"labbot/k8s/fault"
	"labbot/scenarios/engine"
)

// describeWithin ends a description, which takes several requests.
const describeWithin = 10 * time.Second

// ErrOutside says that an object lies outside the namespaces that labbot made.
var ErrOutside = errors.New("labbot shows only objects of its own lab namespaces")

// Describe gives kubectl's own description of an object, Events included, within
// 10 s. Values of environment variables whose names sound like a secret are
// masked; Secrets are refused.
func (c *Cluster) Describe(ctx context.Context, ref engine.Ref) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, describeWithin)
	defer cancel()
	if err := c.mayShow(ctx, ref); err != nil {
		return "", fmt.Errorf("describe %s %s: %w", ref.Kind, ref.Name, err)
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return "", fmt.Errorf("describe %s %s: apiVersion %q: %w", ref.Kind, ref.Name, ref.APIVersion, err)
	}
	config, leash := c.clients.bound(ctx)
	describer, ok := describe.DescriberFor(gv.WithKind(ref.Kind).GroupKind(), config)
	if !ok {
		return "", fmt.Errorf("describe %s %s: kubectl has no description of this kind", ref.Kind, ref.Name)
	}
	text, err := describer.Describe(ref.Namespace, ref.Name, describe.DescriberSettings{ShowEvents: true, ChunkSize: 500})
	if trouble := leash.trouble(); err == nil && trouble != nil {
		err = trouble // the describers leave out what they could not read
	}
	if err != nil {
		return "", fmt.Errorf("describe %s %s: %w", ref.Kind, ref.Name, err)
	}
	return mask(text), nil
}

// mayShow passes Nodes, and what lies in a namespace of labbot.
func (c *Cluster) mayShow(ctx context.Context, ref engine.Ref) error {
	namespace := ref.Namespace
	switch ref.Kind {
	case "Secret":
		return errors.New("labbot does not read Secrets")
	case "Node":
		return nil
	case "Namespace":
		namespace = ref.Name
	}
	if namespace == "" {
		return ErrOutside
	}
	ns, err := c.clients.typed.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !fault.Owned(ns) {
		return ErrOutside
	}
	return nil
}

// Logs gives the last lines, at most 64 KiB, of the failing container of a Pod,
// or of its first one. After a restart they are those of the run before, where
// the cause is. A container that never started has none: the error then says
// what it waits for, in the API's words.
func (c *Cluster) Logs(ctx context.Context, ref engine.Ref, lines int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, describeWithin)
	defer cancel()
	if err := c.mayShow(ctx, engine.Ref{Kind: "Pod", Namespace: ref.Namespace, Name: ref.Name}); err != nil {
		return "", fmt.Errorf("logs of pod %s: %w", ref.Name, err)
	}
	pods := c.clients.typed.CoreV1().Pods(ref.Namespace)
	pod, err := pods.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("logs of pod %s: %w", ref.Name, err)
	}
	tail, limit := int64(max(1, lines)), int64(64<<10)
	opts := pickContainer(pod)
	opts.TailLines, opts.LimitBytes = &tail, &limit
	// Stream, because DoRaw throws the API's own words on a refusal away.
	stream, err := pods.GetLogs(ref.Name, &opts).Stream(ctx)
	if err != nil {
		return "", fmt.Errorf("logs of pod %s, container %s: %w", ref.Name, opts.Container, err)
	}
	defer func() { _ = stream.Close() }()
	raw, err := io.ReadAll(io.LimitReader(stream, limit))
	if err != nil {
		return "", fmt.Errorf("logs of pod %s, container %s: %w", ref.Name, opts.Container, err)
	}
	return string(raw), nil
}

// pickContainer prefers the one that fails: init containers first, as they hold
// up all others.
func pickContainer(pod *corev1.Pod) corev1.PodLogOptions {
	all := append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
	for _, s := range all {
		if over := s.State.Terminated; over != nil && over.ExitCode != 0 {
			return corev1.PodLogOptions{Container: s.Name}
		}
		if s.State.Waiting != nil && s.LastTerminationState.Terminated != nil {
			return corev1.PodLogOptions{Container: s.Name, Previous: true}
		}
	}
	for _, s := range all {
		if s.State.Waiting != nil {
			return corev1.PodLogOptions{Container: s.Name}
		}
	}
	if len(pod.Spec.Containers) == 0 {
		return corev1.PodLogOptions{}
	}
	return corev1.PodLogOptions{Container: pod.Spec.Containers[0].Name}
}
