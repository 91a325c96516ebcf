package exhibit

import (
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The components behind the fields of the built-in kinds.
const (
	deploymentController = "deployment-controller"
	replicaSetController = "replicaset-controller"
	scheduler            = "default-scheduler"
	kubelet              = "kubelet"
)

func sectionsOf(o object) map[string][]Line {
	switch {
	case o.deploy != nil:
		return deploymentSections(o.deploy)
	case o.rs != nil:
		return replicaSetSections(o.rs)
	case o.pod != nil:
		return podSections(o.pod)
	}
	return map[string][]Line{Conditions: rawConditions(o.raw)}
}

func number(n int32) string { return strconv.Itoa(int(n)) }

func orOne(n *int32) string {
	if n == nil {
		return "1" // the API's default
	}
	return number(*n)
}

func deploymentSections(d *appsv1.Deployment) map[string][]Line {
	by := specWriter(d.ManagedFields)
	spec := []Line{{Field: "spec.replicas", Text: orOne(d.Spec.Replicas), Component: by}}
	spec = append(spec, containers("spec.template.spec", d.Spec.Template.Spec, by)...)
	if r := d.Spec.Strategy.RollingUpdate; r != nil {
		spec = append(spec, Line{
			Field: "spec.strategy.rollingUpdate", Component: by,
			Text: fmt.Sprintf("maxSurge %s, maxUnavailable %s", r.MaxSurge, r.MaxUnavailable),
		})
	}
	if d.Spec.Paused {
		spec = append(spec, Line{Field: "spec.paused", Text: "true", Component: by, Bad: true})
	}
	s := d.Status
	status := []Line{
		{Field: "status.observedGeneration", Text: fmt.Sprintf("%d / generation %d", s.ObservedGeneration, d.Generation), Bad: s.ObservedGeneration < d.Generation},
		{Field: "status.replicas", Text: number(s.Replicas)},
		{Field: "status.updatedReplicas", Text: number(s.UpdatedReplicas)},
		{Field: "status.availableReplicas", Text: number(s.AvailableReplicas)},
	}
	if s.UnavailableReplicas > 0 {
		status = append(status, Line{Field: "status.unavailableReplicas", Text: number(s.UnavailableReplicas), Bad: true})
	}
	var conditions []Line
	for _, c := range s.Conditions {
		bad := c.Status != corev1.ConditionTrue
		if c.Type == appsv1.DeploymentReplicaFailure {
			bad = !bad
		}
		conditions = append(conditions, condition(string(c.Type), string(c.Status), c.Reason, c.Message, c.LastUpdateTime, bad))
	}
	return map[string][]Line{Spec: spec, Status: written(status, deploymentController), Conditions: written(conditions, deploymentController)}
}

func replicaSetSections(rs *appsv1.ReplicaSet) map[string][]Line {
	spec := []Line{
		{Field: "metadata.annotations[deployment.kubernetes.io/revision]", Text: revision(rs)},
		{Field: "spec.replicas", Text: orOne(rs.Spec.Replicas)},
	}
	spec = append(spec, containers("spec.template.spec", rs.Spec.Template.Spec, "")...)
	short := rs.Spec.Replicas != nil && rs.Status.ReadyReplicas < *rs.Spec.Replicas
	status := []Line{
		{Field: "status.replicas", Text: number(rs.Status.Replicas)},
		{Field: "status.readyReplicas", Text: number(rs.Status.ReadyReplicas), Bad: short},
	}
	var conditions []Line
	for _, c := range rs.Status.Conditions {
		conditions = append(conditions, condition(string(c.Type), string(c.Status), c.Reason, c.Message, c.LastTransitionTime, c.Status == corev1.ConditionTrue))
	}
	return map[string][]Line{Spec: written(spec, deploymentController), Status: written(status, replicaSetController), Conditions: written(conditions, replicaSetController)}
}

func podSections(p *corev1.Pod) map[string][]Line {
	spec := containers("spec", p.Spec, replicaSetController)
	if p.Spec.NodeName != "" {
		spec = append(spec, Line{Field: "spec.nodeName", Text: p.Spec.NodeName, Component: scheduler})
	}
	status := []Line{{Field: "status.phase", Text: string(p.Status.Phase), Component: kubelet}}
	if p.DeletionTimestamp != nil {
		status = append(status, Line{Field: "metadata.deletionTimestamp", Text: "Terminating", At: p.DeletionTimestamp.Time, Component: "kube-apiserver"})
	}
	for i, c := range p.Status.ContainerStatuses {
		status = append(status, written(containerStatus(fmt.Sprintf("status.containerStatuses[%d]", i), c), kubelet)...)
	}
	var conditions []Line
	for _, c := range p.Status.Conditions {
		bad := c.Status != corev1.ConditionTrue
		if !bad && c.Type != corev1.PodReady && c.Type != corev1.PodScheduled {
			continue // what goes without saying hides what matters
		}
		l := condition(string(c.Type), string(c.Status), c.Reason, c.Message, c.LastTransitionTime, bad)
		l.Component = kubelet
		if c.Type == corev1.PodScheduled {
			l.Component = scheduler
		}
		conditions = append(conditions, l)
	}
	return map[string][]Line{Spec: spec, Status: status, Conditions: conditions}
}

func containerStatus(path string, c corev1.ContainerStatus) []Line {
	var lines []Line
	switch s := c.State; {
	case s.Waiting != nil:
		lines = append(lines, Line{Field: path + ".state.waiting.reason", Text: s.Waiting.Reason, Bad: trouble(&corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{c}}}) != ""})
		if s.Waiting.Message != "" {
			lines = append(lines, Line{Field: path + ".state.waiting.message", Text: Redact(s.Waiting.Message), Bad: true})
		}
	case s.Running != nil:
		lines = append(lines, Line{Field: path + ".state.running.startedAt", Text: s.Running.StartedAt.UTC().Format(time.TimeOnly) + "Z"})
	case s.Terminated != nil:
		lines = append(lines, Line{Field: path + ".state.terminated", Text: fmt.Sprintf("exit code %d, %s", s.Terminated.ExitCode, s.Terminated.Reason), Bad: s.Terminated.ExitCode != 0})
	}
	if c.RestartCount > 0 {
		lines = append(lines, Line{Field: path + ".restartCount", Text: number(c.RestartCount), Bad: true})
	}
	return lines
}

func containers(path string, s corev1.PodSpec, by string) []Line {
	var lines []Line
	for i, c := range s.Containers {
		at := fmt.Sprintf("%s.containers[%d]", path, i)
		lines = append(lines, Line{Field: at + ".image", Text: c.Image, Component: by})
		for _, e := range c.Env {
			lines = append(lines, Line{Field: at + ".env." + e.Name, Text: envValue(e), Component: by})
		}
	}
	return lines
}

func envValue(e corev1.EnvVar) string {
	if e.ValueFrom != nil {
		return "valueFrom"
	}
	return maskEnv(e.Name, e.Value)
}

func condition(kind, status, reason, message string, at metav1.Time, bad bool) Line {
	return Line{Field: "status.conditions[" + kind + "]", Text: status, Message: Redact(message), Reason: reason, At: at.UTC(), Bad: bad}
}

// rawConditions reads the conditions of a kind that is not known in advance;
// whether a value is bad cannot be known then.
func rawConditions(raw map[string]any) []Line {
	all, _, _ := unstructured.NestedSlice(raw, "status", "conditions")
	var lines []Line
	for _, c := range all {
		if m, ok := c.(map[string]any); ok {
			lines = append(lines, condition(str(m["type"]), str(m["status"]), str(m["reason"]), str(m["message"]), metav1.Time{}, false))
		}
	}
	return lines
}

func written(lines []Line, component string) []Line {
	for i := range lines {
		if lines[i].Component == "" {
			lines[i].Component = component
		}
	}
	return lines
}
