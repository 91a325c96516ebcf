// Package node runs the real kubelet over the simulated runtime.
//
// What a person sees of it (conditions, waiting reasons, back-off, Events, probe
// results) is the kubelet's own work. Only what would touch the machine is
// replaced: cgroups, mounts and the machine's statistics.
package node

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	noopoteltrace "go.opentelemetry.io/otel/trace/noop"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
)

// SimulatedLabel marks the Node objects of this cluster.
const SimulatedLabel = "labbot.dev/simulated"

// Config is what one kubelet needs to know.
type Config struct {
	Name       string
	IP         string
	Dir        string // the kubelet's own state
	Kubeconfig string
	CACert     string
	Cert, Key  string // serving certificate
	Socket     string // the runtime's CRI socket
	Manifests  string // static Pods; may be empty
	ClusterDNS string
	Labels     map[string]string
	MaxPods    int32
}

// Run blocks until ctx ends or the kubelet fails.
func Run(ctx context.Context, c Config) error {
	flags := options.NewKubeletFlags()
	flags.KubeConfig = c.Kubeconfig
	flags.HostnameOverride = c.Name
	flags.NodeIP = c.IP
	flags.RootDirectory = c.Dir
	flags.CertDirectory = filepath.Join(c.Dir, "pki")
	flags.NodeLabels = map[string]string{SimulatedLabel: "true"}
	for k, v := range c.Labels {
		flags.NodeLabels[k] = v
	}
	// With one kept dead container, the default, `kubectl logs --previous` fails
	// whenever the current one has ended too, which in a crash loop is most of the time.
	flags.MaxPerPodContainerCount = 2
	cfg, err := options.NewKubeletConfiguration()
	if err != nil {
		return fmt.Errorf("kubelet defaults: %w", err)
	}
	endpoint := "unix://" + c.Socket
	cfg.ContainerRuntimeEndpoint, cfg.ImageServiceEndpoint = endpoint, endpoint
	cfg.Address, cfg.HealthzBindAddress = c.IP, c.IP
	cfg.TLSCertFile, cfg.TLSPrivateKeyFile = c.Cert, c.Key
	cfg.Authentication.Anonymous.Enabled = false
	cfg.Authentication.X509.ClientCAFile = c.CACert
	cfg.StaticPodPath = c.Manifests
	cfg.FileCheckFrequency = metav1.Duration{Duration: 2 * time.Second}
	cfg.ClusterDNS, cfg.ClusterDomain = []string{c.ClusterDNS}, "cluster.local"
	cfg.PodLogsDir = filepath.Join(c.Dir, "pod-logs")
	cfg.MaxPods = c.MaxPods
	cfg.ResolverConfig = ""
	cfg.RegistryPullQPS, cfg.RegistryBurst = 20, 40
	cfg.SerializeImagePulls = false
	cfg.RotateCertificates = false
	cfg.FailSwapOn = false
	// There are no cgroups to manage and no disk of its own to protect.
	cfg.CgroupsPerQOS = false
	cfg.FailCgroupV1 = false
	cfg.EnforceNodeAllocatable = nil
	cfg.EvictionHard = map[string]string{"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%", "imagefs.inodesFree": "0%"}
	cfg.ImageGCHighThresholdPercent = 100
	cfg.FeatureGates = map[string]bool{"PodAndContainerStatsFromCRI": true}
	server := &options.KubeletServer{KubeletFlags: *flags, KubeletConfiguration: *cfg}
	tls, err := kubeletapp.InitializeTLS(ctx, &server.KubeletFlags, &server.KubeletConfiguration)
	if err != nil {
		return fmt.Errorf("kubelet certificate: %w", err)
	}
	plugins, err := kubeletapp.ProbeVolumePlugins(ctx, utilfeature.DefaultFeatureGate)
	if err != nil {
		return fmt.Errorf("volume plugins: %w", err)
	}
	deps := &kubelet.Dependencies{
		CAdvisorInterface: newMachine(c.Name, c.Dir),
		ContainerManager:  newContainerManager(c.Dir),
		TLSOptions:        tls,
		VolumePlugins:     plugins,
		Mounter:           mount.NewFakeMounter(nil),
		Subpather:         &subpath.FakeSubpath{},
		HostUtil:          hostutil.NewHostUtil(),
		OOMAdjuster:       oom.NewFakeOOMAdjuster(),
		OSInterface:       redirectedOS{RealOS: kubecontainer.RealOS{}, logs: filepath.Join(c.Dir, "container-logs")},
		TracerProvider:    noopoteltrace.NewTracerProvider(),
	}
	return kubeletapp.Run(ctx, server, deps, utilfeature.DefaultFeatureGate)
}
