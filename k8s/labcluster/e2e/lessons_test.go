package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodeIsHonest(t *testing.T) {
	c := sharedCluster(t)
	n, err := c.client.CoreV1().Nodes().Get(t.Context(), "k8s-fundamentals-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := n.Status.NodeInfo.ContainerRuntimeVersion; !strings.HasPrefix(got, "simulated://") {
		t.Errorf("runtime version %q does not say that it is simulated", got)
	}
	if n.Labels["labbot.dev/simulated"] != "true" {
		t.Errorf("the node has no label that says it is simulated: %v", n.Labels)
	}
	if n.Status.Allocatable.Cpu().IsZero() || n.Status.Allocatable.Memory().IsZero() {
		t.Errorf("the node has nothing to give: %v", n.Status.Allocatable)
	}
}

func TestBreakImage(t *testing.T) {
	n := sharedCluster(t).namespace(t, "break-image")
	n.create(webDeployment(nil))
	n.awaitRollout()
	before, err := n.pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ips := map[string]bool{}
	for _, p := range before {
		if ip, err := netip.ParseAddr(p.Status.PodIP); err != nil || !netip.MustParsePrefix("10.244.0.0/16").Contains(ip) {
			t.Errorf("Pod %s has the address %q", p.Name, p.Status.PodIP)
		}
		ips[p.Status.PodIP] = true
		if page, err := n.get(p.Name, "80", "/"); err != nil || !strings.Contains(page, "Welcome to nginx!") {
			t.Errorf("Pod %s serves %q, %v", p.Name, page, err)
		}
	}
	if len(ips) != 2 {
		t.Errorf("two Pods share an address: %v", ips)
	}

	n.patch(`{"containers":[{"name":"nginx","image":"nginx:does-not-exist"}]}`)
	broken := n.awaitPod("ErrImagePull", waitsFor("ErrImagePull"))
	n.awaitPod("ImagePullBackOff", waitsFor("ImagePullBackOff"))
	n.awaitEvent("default-scheduler", "Normal", "Scheduled", broken.Name)
	n.awaitEvent("kubelet", "Normal", "Pulling", `Pulling image "nginx:does-not-exist"`)
	n.awaitEvent("kubelet", "Warning", "Failed", `Failed to pull image "nginx:does-not-exist": rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/nginx:does-not-exist": failed to resolve reference "docker.io/library/nginx:does-not-exist": docker.io/library/nginx:does-not-exist: not found`)
	n.awaitEvent("kubelet", "Warning", "Failed", "Error: ErrImagePull")
	n.awaitEvent("kubelet", "Normal", "BackOff", `Back-off pulling image "nginx:does-not-exist"`)
	for _, old := range before {
		p, err := n.client.CoreV1().Pods(n.name).Get(t.Context(), old.Name, metav1.GetOptions{})
		if err != nil || !isReady(p) {
			t.Errorf("old Pod %s must stay Running and Ready: %v", old.Name, err)
		}
	}

	// What `kubectl rollout undo` does: the template of the previous ReplicaSet.
	n.patch(`{"containers":[{"name":"nginx","image":"nginx:1.29-alpine"}]}`)
	n.awaitRollout()
	if err := n.remove(); err != nil {
		t.Error(err)
	}
}

func TestReconcile(t *testing.T) {
	n := sharedCluster(t).namespace(t, "reconcile")
	n.create(webDeployment(nil))
	n.awaitRollout()
	pods, err := n.pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	victim := pods[0]
	if err := n.client.CoreV1().Pods(n.name).Delete(t.Context(), victim.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, stepTimeout, func(ctx context.Context) error {
		pods, err := n.pods(ctx)
		if err != nil {
			return err
		}
		ready := 0
		for i := range pods {
			if pods[i].UID == victim.UID {
				return fmt.Errorf("%s is still there", victim.Name)
			}
			if isReady(&pods[i]) {
				ready++
			}
		}
		if ready != 2 {
			return fmt.Errorf("%d Pods are ready", ready)
		}
		return nil
	})
	n.awaitEvent("replicaset-controller", "Normal", "SuccessfulCreate", "Created pod")
	n.awaitEvent("kubelet", "Normal", "Killing", "Stopping container nginx")
}

func TestFailingReadinessProbe(t *testing.T) {
	n := sharedCluster(t).namespace(t, "readiness")
	n.create(webDeployment(nil))
	n.awaitRollout()
	n.patch(`{"containers":[{"name":"nginx","readinessProbe":{"periodSeconds":1,"httpGet":{"path":"/not-here","port":80}}}]}`)
	n.awaitEvent("kubelet", "Warning", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 404")
	p := n.awaitPod("a probe and not ready", func(p *v1.Pod) bool {
		return p.Spec.Containers[0].ReadinessProbe != nil && p.Status.Phase == v1.PodRunning && !isReady(p)
	})
	for _, s := range p.Status.ContainerStatuses {
		if s.RestartCount != 0 {
			t.Errorf("readiness must not restart: %d restarts", s.RestartCount)
		}
	}
}

func TestLogsOfNowAndBefore(t *testing.T) {
	n := sharedCluster(t).namespace(t, "logs")
	n.create(webDeployment(func(s *v1.PodSpec) {
		s.Containers[0].Command = []string{"sh", "-c", "echo no config; exit 1"}
	}))
	p := n.awaitPod("CrashLoopBackOff", waitsFor("CrashLoopBackOff"))
	n.awaitEvent("kubelet", "Warning", "BackOff", "Back-off restarting failed container")
	// A container that is just being replaced has no log for a moment, as on any node.
	eventually(t, stepTimeout, func(context.Context) error {
		text, err := n.logs(p.Name, v1.PodLogOptions{Previous: true})
		if err != nil || text != "no config\n" {
			return fmt.Errorf("previous log is %q, %v", text, err)
		}
		return nil
	})
	last := p.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || last.ExitCode != 1 || last.Reason != "Error" {
		t.Errorf("last state is %+v", last)
	}
}
