package trace

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podKey(uid, what string) string { return "pod/" + uid + "/" + what }

// pod reads what the Pod itself tells. Keys are those of the Events of the same
// act, so that either record may come first.
func (r *reader) pod(p corev1.Pod) {
	base := Hop{Object: "Pod/" + p.Name}
	add := func(what string, at time.Time, c Component, detail, source string) {
		h := base
		h.Key, h.At, h.Component, h.What, h.Detail, h.Source = podKey(string(p.UID), what), at, c, what, detail, source
		h.Bad = what == PullFailed || what == BackOff || what == RestartBackOff || what == NotScheduled || what == Exited
		r.add(h)
	}
	if owner := metav1.GetControllerOfNoCopy(&p); owner != nil && owner.Kind == "ReplicaSet" {
		add(CreatedPod, p.CreationTimestamp.Time, ReplicaSetController, owner.Name, "ownerReferences "+owner.Kind+"/"+owner.Name)
	}
	if p.DeletionTimestamp != nil {
		// The stamp is when the grace period will be over, not when it began.
		asked := p.DeletionTimestamp.Time
		if p.DeletionGracePeriodSeconds != nil {
			asked = asked.Add(-time.Duration(*p.DeletionGracePeriodSeconds) * time.Second)
		}
		add(DeletionAsked, asked, APIServer, "", "metadata.deletionTimestamp")
	}
	for _, c := range p.Status.Conditions {
		source := "condition " + string(c.Type)
		switch {
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue:
			add(Scheduled, c.LastTransitionTime.Time, Scheduler, p.Spec.NodeName, source)
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			add(NotScheduled, c.LastTransitionTime.Time, Scheduler, c.Message, source)
		case c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue:
			add(Ready, c.LastTransitionTime.Time, Kubelet, "", source)
		}
	}
	for i, c := range p.Status.ContainerStatuses {
		r.container(p, i, c, add)
	}
}

func (r *reader) container(p corev1.Pod, i int, c corev1.ContainerStatus, add func(string, time.Time, Component, string, string)) {
	source := fmt.Sprintf("containerStatuses[%d].state", i)
	// A waiting state has no time of its own: the kubelet's last write to the
	// status stands for it until the Event gives a better one.
	switch s := c.State; {
	case s.Running != nil:
		add(Started, s.Running.StartedAt.Time, Kubelet, c.Name, source+".running")
	case s.Terminated != nil && s.Terminated.ExitCode != 0:
		add(Exited, s.Terminated.FinishedAt.Time, Kubelet, fmt.Sprintf("exit code %d", s.Terminated.ExitCode), source+".terminated")
	case s.Waiting != nil:
		if what := waiting[s.Waiting.Reason]; what != "" {
			add(what, kubeletWrote(p.ManagedFields), Kubelet, s.Waiting.Message, source+".waiting")
		}
	}
}

var waiting = map[string]string{
	"ErrImagePull":     PullFailed,
	"InvalidImageName": PullFailed,
	"ImagePullBackOff": BackOff,
	"CrashLoopBackOff": RestartBackOff,
}

func kubeletWrote(fields []metav1.ManagedFieldsEntry) time.Time {
	var at time.Time
	for _, f := range fields {
		if f.Manager == "kubelet" && f.Time != nil && f.Time.After(at) {
			at = f.Time.Time
		}
	}
	return at
}
