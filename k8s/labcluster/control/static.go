package control

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"labbot/k8s/labcluster/cri"
)

// ManifestDir is the folder that the first node's kubelet takes static Pods from.
func (p *Plan) ManifestDir() string { return filepath.Join(p.Dir, "manifests") }

// WriteManifests writes the static Pods of the control plane.
func (p *Plan) WriteManifests(kubernetesVersion string) error {
	components, err := p.Components()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.ManifestDir(), 0o700); err != nil {
		return fmt.Errorf("manifest folder: %w", err)
	}
	for _, c := range components {
		pod, err := staticPod(c, kubernetesVersion)
		if err != nil {
			return err
		}
		data, err := yaml.Marshal(pod)
		if err != nil {
			return fmt.Errorf("manifest of %s: %w", c.Name, err)
		}
		// The kubelet must never read half a file: it ignores names with a dot in front.
		tmp := filepath.Join(p.ManifestDir(), "."+c.Name+".new")
		if err := os.WriteFile(tmp, data, 0o600); err != nil {
			return fmt.Errorf("manifest of %s: %w", c.Name, err)
		}
		if err := os.Rename(tmp, filepath.Join(p.ManifestDir(), c.Name+".yaml")); err != nil {
			return fmt.Errorf("manifest of %s: %w", c.Name, err)
		}
	}
	return nil
}

// requests are those of kubeadm.
var cpuRequests = map[string]string{"etcd": "100m", "kube-apiserver": "250m", "kube-controller-manager": "200m", "kube-scheduler": "100m"}

func imageOf(component, kubernetesVersion string) string {
	if component == "etcd" {
		return "registry.k8s.io/etcd:" + etcdTag
	}
	return "registry.k8s.io/" + component + ":" + kubernetesVersion
}

const etcdTag = "3.7.0-0"

func staticPod(c Component, kubernetesVersion string) (*v1.Pod, error) {
	health, err := url.Parse(c.Health)
	if err != nil {
		return nil, fmt.Errorf("health address of %s: %w", c.Name, err)
	}
	port, err := strconv.Atoi(health.Port())
	if err != nil {
		return nil, fmt.Errorf("health address of %s: %w", c.Name, err)
	}
	probe := func(failures int32, period int32) *v1.Probe {
		return &v1.Probe{
			ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{
				Host: health.Hostname(), Path: strings.Replace(health.Path, "/readyz", "/livez", 1), Port: intstr.FromInt32(int32(port)),
				Scheme: v1.URIScheme(strings.ToUpper(health.Scheme)),
			}},
			FailureThreshold: failures, PeriodSeconds: period, TimeoutSeconds: 15,
		}
	}
	var env []v1.EnvVar
	for _, e := range c.Env {
		name, value, _ := strings.Cut(e, "=")
		env = append(env, v1.EnvVar{Name: name, Value: value})
	}
	return &v1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Name, Namespace: metav1.NamespaceSystem,
			Labels: map[string]string{"component": c.Name, "tier": "control-plane"},
		},
		Spec: v1.PodSpec{
			HostNetwork: true, PriorityClassName: "system-node-critical",
			SecurityContext: &v1.PodSecurityContext{SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault}},
			Containers: []v1.Container{{
				Name: c.Name, Image: imageOf(c.Name, kubernetesVersion), ImagePullPolicy: v1.PullIfNotPresent,
				Command: append([]string{c.Name}, c.Args...), Env: env,
				Resources:     v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpuRequests[c.Name])}},
				LivenessProbe: probe(8, 10), StartupProbe: probe(60, 2),
			}},
		},
	}, nil
}

// AddSystemImages puts the images of the cluster's own Pods into a catalogue.
func AddSystemImages(c *cri.Catalogue, kubernetesVersion string) {
	has := map[string]bool{}
	for _, r := range c.Registries {
		has[r.Host] = true
	}
	for _, host := range []string{"registry.k8s.io", "ghcr.io"} {
		if !has[host] {
			c.Registries = append(c.Registries, cri.Registry{Host: host})
		}
	}
	size := resource.MustParse("30Mi")
	noWait := &metav1.Duration{}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		tag := kubernetesVersion
		if name == "etcd" {
			tag = etcdTag
		}
		c.Repositories = append(c.Repositories, cri.Repository{
			Name: "registry.k8s.io/" + name, Tags: []string{tag}, Size: size, PullTakes: noWait,
			Entrypoint: []string{"/usr/local/bin/" + name},
			Programs:   map[string]cri.Behaviour{"/usr/local/bin/" + name: {Process: name}},
		})
	}
	for _, r := range []cri.Repository{
		{Name: "registry.k8s.io/kube-proxy", Tags: []string{kubernetesVersion}, Programs: map[string]cri.Behaviour{"/usr/local/bin/kube-proxy": {
			Print: []string{"simulated kube-proxy: this cluster has no packet rules to write"}, Memory: workingSet("12Mi"),
		}}},
		{Name: "registry.k8s.io/coredns/coredns", Tags: []string{coreDNSTag}, Programs: map[string]cri.Behaviour{"/coredns": {
			Print: []string{"simulated CoreDNS: it answers its probes and no names"}, Memory: workingSet("14Mi"), Serve: &cri.Serve{Port: 8181},
		}}},
		{Name: "ghcr.io/flannel-io/flannel", Tags: []string{flannelTag}, Programs: map[string]cri.Behaviour{"/opt/bin/flanneld": {
			Print: []string{"simulated flannel: Pod addresses are local routes of the cluster's namespace"}, Memory: workingSet("10Mi"),
		}}},
	} {
		for path := range r.Programs {
			r.Entrypoint = []string{path}
		}
		r.Size = size
		c.Repositories = append(c.Repositories, r)
	}
}

const (
	coreDNSTag = "v1.13.1"
	flannelTag = "v0.27.4"
)

func workingSet(size string) *cri.Memory { return &cri.Memory{Start: resource.MustParse(size)} }
