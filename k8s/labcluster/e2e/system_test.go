package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPreflightPicture is what the course's first commands show.
func TestPreflightPicture(t *testing.T) {
	c := sharedCluster(t)
	want := map[string]int{
		"kube-system/etcd-k8s-fundamentals-1": 1, "kube-system/kube-apiserver-k8s-fundamentals-1": 1,
		"kube-system/kube-controller-manager-k8s-fundamentals-1": 1, "kube-system/kube-scheduler-k8s-fundamentals-1": 1,
		"kube-system/coredns-": 2, "kube-system/kube-proxy-": 1, "kube-flannel/kube-flannel-ds-": 1,
	}
	eventually(t, stepTimeout, func(ctx context.Context) error {
		list, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for prefix, count := range want {
			ready := 0
			for i := range list.Items {
				p := &list.Items[i]
				if strings.HasPrefix(p.Namespace+"/"+p.Name, prefix) && p.Status.Phase == v1.PodRunning && isReady(p) {
					ready++
				}
			}
			if ready != count {
				return fmt.Errorf("%d Pods %s* are Running and Ready, want %d", ready, prefix, count)
			}
		}
		return nil
	})
	n, err := c.client.CoreV1().Nodes().Get(t.Context(), "k8s-fundamentals-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := n.Labels["node-role.kubernetes.io/control-plane"]; !ok {
		t.Error("the node has no control-plane role")
	}
}

// TestManifestTakenAway stops a component, and put back starts it.
func TestManifestTakenAway(t *testing.T) {
	c := sharedCluster(t)
	manifest := filepath.Join(c.dir, "manifests", "kube-scheduler.yaml")
	aside := filepath.Join(c.dir, "kube-scheduler.yaml")
	if err := os.Rename(manifest, aside); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Rename(aside, manifest) })
	pods := c.client.CoreV1().Pods("kube-system")
	eventually(t, stepTimeout, func(ctx context.Context) error {
		if left := processesOfPID("kube-scheduler", c.dir); len(left) > 0 {
			return fmt.Errorf("still running: %v", left)
		}
		if _, err := pods.Get(ctx, "kube-scheduler-k8s-fundamentals-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("its mirror Pod is still there (%v)", err)
		}
		return nil
	})
	if err := os.Rename(aside, manifest); err != nil {
		t.Fatal(err)
	}
	eventually(t, stepTimeout, func(ctx context.Context) error {
		p, err := pods.Get(ctx, "kube-scheduler-k8s-fundamentals-1", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !isReady(p) || len(processesOfPID("kube-scheduler", c.dir)) != 1 {
			return fmt.Errorf("the scheduler is not back: %s", describe(p))
		}
		return nil
	})
}

// TestComponentImageIsNoProcessForOthers keeps real processes out of reach of the API.
func TestComponentImageIsNoProcessForOthers(t *testing.T) {
	c := sharedCluster(t)
	system, err := c.client.CoreV1().Pods("kube-system").Get(t.Context(), "kube-scheduler-k8s-fundamentals-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := c.namespace(t, "no-process")
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{"kubernetes.io/config.source": "file"}},
		Spec:       v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "c", Image: system.Spec.Containers[0].Image}}},
	}
	if _, err := c.client.CoreV1().Pods(n.name).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.awaitPod("phase Failed", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	if text, err := n.logs("p", v1.PodLogOptions{}); err != nil || !strings.Contains(text, "only as a static Pod") {
		t.Errorf("its log is %q, %v", text, err)
	}
}

func TestThreeNodes(t *testing.T) {
	bin := binary(t)
	c, err := launch(bin, filepath.Join(homeOf(t, nil), "c"), nil, "--nodes", "3", "--kubernetes-audit")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	n := c.namespace(t, "three")
	d := webDeployment(func(s *v1.PodSpec) {
		s.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "kubernetes.io/hostname", WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}}
	})
	three := int32(3)
	d.Spec.Replicas = &three
	n.create(d)
	n.awaitRollout()
	pods, err := n.pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	nodes, networks := map[string]bool{}, map[string]bool{}
	for _, p := range pods {
		nodes[p.Spec.NodeName] = true
		networks[p.Status.PodIP[:strings.LastIndex(p.Status.PodIP, ".")]] = true
		if page, err := n.get(p.Name, "80", "/"); err != nil || !strings.Contains(page, "Welcome") {
			t.Errorf("%s serves %q, %v", p.Name, page, err)
		}
		if text, err := n.logs(p.Name, v1.PodLogOptions{}); err != nil || !strings.Contains(text, "start worker processes") {
			t.Errorf("log of %s on %s: %q, %v", p.Name, p.Spec.NodeName, text, err)
		}
	}
	if len(nodes) != 3 || len(networks) != 3 {
		t.Errorf("Pods are on the nodes %v with the networks %v", nodes, networks)
	}
	audit, err := os.ReadFile(filepath.Join(c.dir, "logs", "audit.log"))
	if err != nil || !strings.Contains(string(audit), `"verb":"create"`) {
		t.Errorf("the audit log tells of no change: %v", err)
	}
}
