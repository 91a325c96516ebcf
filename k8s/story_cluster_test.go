package k8s

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labbot/k8s/clustertest"
	"labbot/scenarios/engine"
)

// needsNode skips what a control plane alone cannot show.
func (b *bench) needsNode() {
	b.Helper()
	nodes, err := b.admin.CoreV1().Nodes().List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range nodes.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return
			}
		}
	}
	if os.Getenv(clustertest.EnvRequire) != "" {
		b.Fatal("the cluster has no Node that is Ready")
	}
	b.Skip("needs a Node that is Ready, and the cluster has none")
}

// rolledOut tells what `kubectl rollout status` waits for.
func rolledOut(e engine.Evidence) bool {
	d := e.Objects["deploy"].Object
	want := field[int64](d, "spec", "replicas")
	return d != nil && field[int64](d, "status", "observedGeneration") >= field[int64](d, "metadata", "generation") &&
		field[int64](d, "status", "updatedReplicas") == want && field[int64](d, "status", "replicas") == want &&
		field[int64](d, "status", "availableReplicas") == want
}

func event(e engine.Evidence, reason, words string) *engine.Event {
	for i := range e.Events {
		if e.Events[i].Reason == reason && strings.Contains(e.Events[i].Message, words) {
			return &e.Events[i]
		}
	}
	return nil
}

// TestBreakImage is the lesson as the bot lives it, on a real kubelet.
func TestBreakImage(t *testing.T) {
	b := newBench(t)
	b.needsNode()
	ns := b.must(b.createNamespace(), 20*time.Second)
	lens := b.watch(deployView, rsView, podsView)
	deploy := b.must(b.createWeb(), 10*time.Second)
	b.wait(120*time.Second, "the first rollout", func() bool { return rolledOut(lens.Evidence()) })
	baseline := field[map[string]any](lens.Evidence().Objects["deploy"].Object, "spec", "template")

	b.must(engine.Intent{Kind: engine.ActSetImage, SetImage: &engine.SetImage{Target: b.web(deploy.UID), Image: "nginx:does-not-exist"}}, 10*time.Second)
	b.wait(60*time.Second, "the pull to fail", func() bool {
		e := lens.Evidence()
		return event(e, "Failed", "nginx:does-not-exist") != nil && waiting(e) != nil && event(e, "BackOff", "") != nil
	})
	e := lens.Evidence()
	if n := field[int64](e.Objects["deploy"].Object, "status", "availableReplicas"); n != 2 {
		t.Errorf("%d replicas available while the rollout is stuck, want the old 2", n)
	}
	for _, want := range [][2]string{
		{"ScalingReplicaSet", "deployment-controller"}, {"SuccessfulCreate", "replicaset-controller"}, {"Scheduled", "default-scheduler"},
		{"Pulling", "kubelet"}, {"Failed", "kubelet"}, {"BackOff", "kubelet"},
	} {
		if ev := event(e, want[0], ""); ev == nil || ev.Component != want[1] {
			t.Errorf("event %s = %+v, want one of %s", want[0], ev, want[1])
		}
	}
	b.describeAndLog(waiting(e))

	r := b.must(engine.Intent{Kind: engine.ActUndo, Undo: &engine.Undo{Target: b.web(deploy.UID), Template: baseline}}, 10*time.Second)
	if r.Message != "rolled back to revision 1, now revision 3" {
		t.Errorf("undo: %s", r.Message)
	}
	b.wait(120*time.Second, "the repaired rollout", func() bool {
		e := lens.Evidence()
		return rolledOut(e) && len(e.Objects["pods"].Items) == 2 && waiting(e) == nil
	})

	start := time.Now()
	b.must(b.deleteNamespace(ns.UID), 120*time.Second)
	t.Logf("namespace gone after %s", time.Since(start).Round(100*time.Millisecond))
	if r := b.do(b.proof(), 10*time.Second); r.Reason != "NotFound" {
		t.Errorf("proof = %+v", r)
	}
}

// waiting is the Pod that cannot pull its image.
func waiting(e engine.Evidence) map[string]any {
	for _, p := range e.Objects["pods"].Items {
		for _, s := range field[[]any](p, "status", "containerStatuses") {
			switch field[string](s.(map[string]any), "state", "waiting", "reason") {
			case "ErrImagePull", "ImagePullBackOff":
				return p
			}
		}
	}
	return nil
}

func (b *bench) describeAndLog(pod map[string]any) {
	b.Helper()
	ref := engine.Ref{APIVersion: "v1", Kind: "Pod", Namespace: b.meta.Namespace, Name: field[string](pod, "metadata", "name")}
	text, err := b.bot.Describe(b.Context(), ref)
	for _, words := range []string{"nginx:does-not-exist", "Reason:", "Controlled By:  ReplicaSet/", "Failed to pull image", "Events:"} {
		if err != nil || !strings.Contains(text, words) {
			b.Errorf("Describe = %v, want …%s… in:\n%s", err, words, text)
		}
	}
	if _, err := b.bot.Logs(b.Context(), ref, 10); err == nil || !strings.Contains(err.Error(), "waiting to start") {
		b.Errorf("Logs of a container that never started = %v, want what it waits for", err)
	}
}

// TestDeletedPodIsReplaced is the heart of the reconcile lesson.
func TestDeletedPodIsReplaced(t *testing.T) {
	b := newBench(t)
	b.needsNode()
	b.must(b.createNamespace(), 20*time.Second)
	lens := b.watch(deployView, podsView)
	b.must(b.createWeb(), 10*time.Second)
	b.wait(120*time.Second, "the first rollout", func() bool { return rolledOut(lens.Evidence()) })
	old := lens.Evidence().Objects["pods"].Items[0]
	ref := engine.Ref{APIVersion: "v1", Kind: "Pod", Namespace: b.meta.Namespace, Name: field[string](old, "metadata", "name"), UID: field[string](old, "metadata", "uid")}
	if text, err := b.bot.Logs(b.Context(), ref, 5); err != nil || strings.Count(text, "\n") > 5 {
		t.Errorf("Logs = %v:\n%s", err, text)
	}
	for range 2 { // the second changes nothing
		b.must(engine.Intent{Kind: engine.ActDeletePod, DeletePod: &engine.DeletePod{Target: ref}}, 10*time.Second)
	}
	b.wait(60*time.Second, "a replacement to be Ready", func() bool {
		e := lens.Evidence()
		for _, p := range e.Objects["pods"].Items {
			if field[string](p, "metadata", "uid") == ref.UID {
				return false
			}
		}
		return len(e.Objects["pods"].Items) == 2 && rolledOut(e)
	})
}

// TestDescribeHonoursItsDeadline makes sure kubectl's describers, which take no
// context, end with ours.
func TestDescribeHonoursItsDeadline(t *testing.T) {
	b := newBench(t)
	b.must(b.createNamespace(), 20*time.Second)
	b.must(b.createWeb(), 10*time.Second)
	w := b.through()
	w.stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	if _, err := b.bot.Describe(ctx, b.web("")); err == nil || time.Since(start) > 5*time.Second {
		t.Errorf("Describe on a silent server = %v after %s", err, time.Since(start))
	}
}
