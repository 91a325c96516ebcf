package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// event is an Event that must appear.
type event struct{ component, kind, reason, text string }

// fault is one way to break the Deployment `web`, and what must be seen of it.
type fault struct {
	prepare func(*testing.T, *namespace)
	patch   string
	waiting []string // waiting reasons that must be seen, each at some time
	events  []event
	pod     func(*v1.Pod) error // holds for some Pod at some time
	deploy  func(*appsv1.Deployment) error
}

// faults follows the scenario catalogue; the reasons are Kubernetes' own.
var faults = map[string]fault{
	"break-pull-secret": {
		patch:   `{"imagePullSecrets":[{"name":"regcred-missing"}],"containers":[{"name":"nginx","image":"registry.lab.test/lab/private-web:1"}]}`,
		waiting: []string{"ErrImagePull", "ImagePullBackOff"},
		events: []event{
			{"kubelet", "Warning", "FailedToRetrieveImagePullSecret", "regcred-missing"},
			{"kubelet", "Warning", "Failed", "authorization failed: no basic auth credentials"},
			{"kubelet", "Normal", "BackOff", "Back-off pulling image"},
		},
	},
	"registry-down": {
		patch:   `{"containers":[{"name":"nginx","image":"down.lab.test/app:1"}]}`,
		waiting: []string{"ErrImagePull", "ImagePullBackOff"},
		events:  []event{{"kubelet", "Warning", "Failed", "connect: connection refused"}},
	},
	"crash-loop": {
		patch:   `{"containers":[{"name":"nginx","command":["sh","-c","echo no config; exit 1"]}]}`,
		waiting: []string{"CrashLoopBackOff"},
		events:  []event{{"kubelet", "Warning", "BackOff", "Back-off restarting failed container"}},
		pod:     lastExit("Error", 1),
	},
	"bad-liveness-probe": {
		patch: `{"containers":[{"name":"nginx","livenessProbe":{"periodSeconds":1,"failureThreshold":2,"httpGet":{"path":"/","port":81}}}]}`,
		events: []event{
			{"kubelet", "Warning", "Unhealthy", "Liveness probe failed"},
			{"kubelet", "Normal", "Killing", "will be restarted"},
		},
		pod: lastExit("Completed", 0),
	},
	"exec-probe": {
		patch:  `{"containers":[{"name":"nginx","readinessProbe":{"periodSeconds":1,"exec":{"command":["cat","/tmp/ready"]}}}]}`,
		events: []event{{"kubelet", "Warning", "Unhealthy", "Readiness probe failed: cat: can't open '/tmp/ready'"}},
	},
	"tcp-probe": {
		patch:  `{"containers":[{"name":"nginx","readinessProbe":{"periodSeconds":1,"tcpSocket":{"port":81}}}]}`,
		events: []event{{"kubelet", "Warning", "Unhealthy", "connect: connection refused"}},
	},
	"grpc-probe": {
		patch:  `{"containers":[{"name":"nginx","readinessProbe":{"periodSeconds":1,"grpc":{"port":80}}}]}`,
		events: []event{{"kubelet", "Warning", "Unhealthy", "Readiness probe failed"}},
	},
	"oom-kill": {
		patch:   `{"containers":[{"name":"nginx","image":"registry.lab.test/lab/eater:1","resources":{"limits":{"memory":"32Mi"}}}]}`,
		waiting: []string{"CrashLoopBackOff"},
		pod:     lastExit("OOMKilled", 137),
	},
	"unschedulable-resources": {
		patch:  `{"containers":[{"name":"nginx","resources":{"requests":{"cpu":"6400"}}}]}`,
		events: []event{{"default-scheduler", "Warning", "FailedScheduling", "Insufficient cpu"}},
		pod:    condition(v1.PodScheduled, v1.ConditionFalse, "Unschedulable"),
	},
	"unschedulable-selector": {
		patch:  `{"nodeSelector":{"disktype":"ssd-missing"}}`,
		events: []event{{"default-scheduler", "Warning", "FailedScheduling", "didn't match Pod's node affinity/selector"}},
	},
	"quota-blocked": {
		prepare: func(t *testing.T, n *namespace) {
			q := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "pods"}, Spec: v1.ResourceQuotaSpec{Hard: v1.ResourceList{"pods": resource.MustParse("2")}}}
			if _, err := n.client.CoreV1().ResourceQuotas(n.name).Create(t.Context(), q, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			eventually(t, stepTimeout, func(ctx context.Context) error {
				q, err := n.client.CoreV1().ResourceQuotas(n.name).Get(ctx, "pods", metav1.GetOptions{})
				if err != nil {
					return err
				}
				if used := q.Status.Used["pods"]; used.Value() != 2 {
					return fmt.Errorf("quota counts %s Pods", used.String())
				}
				return nil
			})
		},
		patch:  `{"containers":[{"name":"nginx","image":"nginx:1.28-alpine"}]}`,
		events: []event{{"replicaset-controller", "Warning", "FailedCreate", "exceeded quota: pods"}},
		deploy: replicaFailure,
	},
	"missing-configmap": {
		patch:   `{"containers":[{"name":"nginx","envFrom":[{"configMapRef":{"name":"web-config-missing"}}]}]}`,
		waiting: []string{"CreateContainerConfigError"},
		events:  []event{{"kubelet", "Warning", "Failed", `Error: configmap "web-config-missing" not found`}},
	},
	"missing-configmap-volume": {
		patch:  `{"volumes":[{"name":"c","configMap":{"name":"web-config-missing"}}],"containers":[{"name":"nginx","volumeMounts":[{"name":"c","mountPath":"/c"}]}]}`,
		events: []event{{"kubelet", "Warning", "FailedMount", `configmap "web-config-missing" not found`}},
	},
	"missing-secret-key": {
		prepare: func(t *testing.T, n *namespace) {
			s := &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "web-secret"}, StringData: map[string]string{"password": "x"}}
			if _, err := n.client.CoreV1().Secrets(n.name).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		patch:   `{"containers":[{"name":"nginx","env":[{"name":"P","valueFrom":{"secretKeyRef":{"name":"web-secret","key":"passwrod"}}}]}]}`,
		waiting: []string{"CreateContainerConfigError"},
		events:  []event{{"kubelet", "Warning", "Failed", "couldn't find key passwrod in Secret"}},
	},
	"pvc-pending": {
		prepare: func(t *testing.T, n *namespace) {
			class := "fast-missing"
			pvc := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: v1.PersistentVolumeClaimSpec{
				StorageClassName: &class, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
				Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{"storage": resource.MustParse("1Gi")}},
			}}
			if _, err := n.client.CoreV1().PersistentVolumeClaims(n.name).Create(t.Context(), pvc, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		patch: `{"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}],"containers":[{"name":"nginx","volumeMounts":[{"name":"d","mountPath":"/d"}]}]}`,
		events: []event{
			{"persistentvolume-controller", "Warning", "ProvisioningFailed", `"fast-missing" not found`},
			{"default-scheduler", "Warning", "FailedScheduling", "unbound immediate PersistentVolumeClaims"},
		},
	},
	"admission-restricted": {
		prepare: func(t *testing.T, n *namespace) {
			ns, err := n.client.CoreV1().Namespaces().Get(t.Context(), n.name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
			if _, err := n.client.CoreV1().Namespaces().Update(t.Context(), ns, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		patch:  `{"containers":[{"name":"nginx","image":"nginx:1.28-alpine"}]}`,
		events: []event{{"replicaset-controller", "Warning", "FailedCreate", `violates PodSecurity "restricted:latest"`}},
		deploy: replicaFailure,
	},
	"init-fails": {
		patch:   `{"initContainers":[{"name":"wait-db","image":"busybox:1.37","command":["sh","-c","exit 3"]}]}`,
		waiting: []string{"PodInitializing", "CrashLoopBackOff"},
		events:  []event{{"kubelet", "Warning", "BackOff", "Back-off restarting failed container wait-db"}},
		pod:     condition(v1.PodInitialized, v1.ConditionFalse, "ContainersNotInitialized"),
	},
	"wrong-entrypoint": {
		patch:   `{"containers":[{"name":"nginx","command":["/bin/nope"]}]}`,
		waiting: []string{"RunContainerError", "CrashLoopBackOff"},
		events:  []event{{"kubelet", "Warning", "Failed", `exec: "/bin/nope": stat /bin/nope: no such file or directory`}},
		pod:     lastExit("StartError", 128),
	},
	"wrong-architecture": {
		patch:   `{"containers":[{"name":"nginx","image":"registry.lab.test/lab/other-arch:1"}]}`,
		waiting: []string{"ErrImagePull"},
		events:  []event{{"kubelet", "Warning", "Failed", "no match for platform in manifest"}},
	},
	"run-as-non-root": {
		patch:   `{"securityContext":{"runAsNonRoot":true}}`,
		waiting: []string{"CreateContainerConfigError"},
		events:  []event{{"kubelet", "Warning", "Failed", "container has runAsNonRoot and image will run as root"}},
	},
}

func TestFaults(t *testing.T) {
	c := sharedCluster(t)
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := c.namespace(t, "f-"+name)
			n.create(webDeployment(nil))
			n.awaitRollout()
			if f.prepare != nil {
				f.prepare(t, n)
			}
			n.patch(f.patch)
			for _, reason := range f.waiting {
				n.awaitPod("waiting reason "+reason, waitsFor(reason))
			}
			if f.pod != nil {
				n.awaitPodThat(f.pod)
			}
			for _, e := range f.events {
				n.awaitEvent(e.component, e.kind, e.reason, e.text)
			}
			if f.deploy != nil {
				eventually(t, stepTimeout, func(ctx context.Context) error {
					d, err := n.client.AppsV1().Deployments(n.name).Get(ctx, "web", metav1.GetOptions{})
					if err != nil {
						return err
					}
					return f.deploy(d)
				})
			}
		})
	}
}

func (n *namespace) awaitPodThat(holds func(*v1.Pod) error) {
	n.t.Helper()
	eventually(n.t, 2*stepTimeout, func(ctx context.Context) error {
		pods, err := n.pods(ctx)
		if err != nil {
			return err
		}
		var why []string
		for i := range pods {
			if err := holds(&pods[i]); err == nil {
				return nil
			} else {
				why = append(why, err.Error())
			}
		}
		return fmt.Errorf("no Pod is as it should be: %s", strings.Join(why, "; "))
	})
}

// lastExit asks for a container that has ended before with that reason and code.
func lastExit(reason string, code int32) func(*v1.Pod) error {
	return func(p *v1.Pod) error {
		for _, s := range p.Status.ContainerStatuses {
			if l := s.LastTerminationState.Terminated; l != nil && l.Reason == reason && l.ExitCode == code {
				return nil
			}
		}
		return fmt.Errorf("no last state %s/%d in %s", reason, code, describe(p))
	}
}

func condition(kind v1.PodConditionType, status v1.ConditionStatus, reason string) func(*v1.Pod) error {
	return func(p *v1.Pod) error {
		for _, c := range p.Status.Conditions {
			if c.Type == kind && c.Status == status && c.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("no condition %s=%s/%s in %s", kind, status, reason, p.Name)
	}
}

func replicaFailure(d *appsv1.Deployment) error {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == v1.ConditionTrue && c.Reason == "FailedCreate" {
			return nil
		}
	}
	return fmt.Errorf("no ReplicaFailure in %+v", d.Status.Conditions)
}

func TestJobBackoff(t *testing.T) {
	n := sharedCluster(t).namespace(t, "job-backoff")
	limit := int32(1)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "import"}, Spec: batchv1.JobSpec{
		BackoffLimit: &limit,
		Template: v1.PodTemplateSpec{Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{
			Name: "import", Image: "busybox:1.37", Command: []string{"sh", "-c", "echo importing; exit 1"},
		}}}},
	}}
	if _, err := n.client.BatchV1().Jobs(n.name).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.awaitEvent("job-controller", "Warning", "BackoffLimitExceeded", "backoff limit")
	pods, err := n.pods(t.Context())
	if err != nil || len(pods) != 2 {
		t.Errorf("%d failed Pods are kept, want 2 (%v)", len(pods), err)
	}
}
