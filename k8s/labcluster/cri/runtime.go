package cri

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
)

// RuntimeName is what the node reports as the name of its container runtime.
const RuntimeName = "simulated"

// Options say what a Runtime needs to know of its node.
type Options struct {
	Images *ImageService
	// Dir holds the containers' own files; it is emptied at the start.
	Dir string
	// Version is reported as the runtime's version.
	Version string
	// NodeIP is the address of Pods in the host network.
	NodeIP string
	Logger *slog.Logger
	// Process starts real processes for the images that are marked so; nil: none.
	Process ProcessStarter
}

// Runtime is the simulated runtime service of one node.
type Runtime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	opts   Options
	images *ImageService
	stream streaming.Server
	log    *slog.Logger

	mu         sync.Mutex
	pool       *addressPool
	sandboxes  map[string]*sandbox
	containers map[string]*container
}

// NewRuntime returns a runtime without any sandbox.
func NewRuntime(opts Options) (*Runtime, error) {
	if err := os.RemoveAll(opts.Dir); err != nil {
		return nil, fmt.Errorf("empty the containers' folder: %w", err)
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("containers' folder: %w", err)
	}
	return &Runtime{
		opts: opts, images: opts.Images, log: opts.Logger,
		sandboxes: map[string]*sandbox{}, containers: map[string]*container{},
	}, nil
}

// Close kills every container that is left.
func (r *Runtime) Close() {
	r.mu.Lock()
	all := make([]*container, 0, len(r.containers))
	for _, c := range r.containers {
		all = append(all, c)
	}
	r.mu.Unlock()
	for _, c := range all {
		c.kill()
	}
	for _, c := range all {
		c.wait()
	}
	if r.stream != nil {
		_ = r.stream.Stop()
	}
}

// Version names the runtime honestly: nothing is contained here.
func (r *Runtime) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{
		Version: "0.1.0", RuntimeName: RuntimeName, RuntimeVersion: r.opts.Version, RuntimeApiVersion: "v1",
	}, nil
}

// Status is ready at once; the network is ready when the node has its Pod CIDR.
func (r *Runtime) Status(context.Context, *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	network := &runtimeapi.RuntimeCondition{
		Type: runtimeapi.NetworkReady, Status: true,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pool == nil {
		network.Status = false
		network.Reason = "NetworkPluginNotReady"
		network.Message = "Network plugin returns error: the node has no Pod CIDR yet"
	}
	return &runtimeapi.StatusResponse{
		Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
			{Type: runtimeapi.RuntimeReady, Status: true}, network,
		}},
		RuntimeHandlers: []*runtimeapi.RuntimeHandler{{Name: ""}},
		Features:        &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true},
	}, nil
}

// UpdateRuntimeConfig receives the node's Pod CIDR.
func (r *Runtime) UpdateRuntimeConfig(_ context.Context, req *runtimeapi.UpdateRuntimeConfigRequest) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	cidr := req.GetRuntimeConfig().GetNetworkConfig().GetPodCidr()
	if cidr == "" {
		return &runtimeapi.UpdateRuntimeConfigResponse{}, nil
	}
	pool, err := newAddressPool(cidr)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pool == nil || r.pool.prefix != pool.prefix {
		r.pool = pool
	}
	return &runtimeapi.UpdateRuntimeConfigResponse{}, nil
}

// RuntimeConfig states the cgroup driver; there are no cgroups, the default of kubeadm stands.
func (r *Runtime) RuntimeConfig(context.Context, *runtimeapi.RuntimeConfigRequest) (*runtimeapi.RuntimeConfigResponse, error) {
	return &runtimeapi.RuntimeConfigResponse{
		Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: runtimeapi.CgroupDriver_SYSTEMD},
	}, nil
}

func (r *Runtime) container(id string) (*container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c, ok := r.containers[id]; ok {
		return c, nil
	}
	return nil, status.Errorf(codes.NotFound, "an error occurred when try to find container %q: not found", id)
}

func (r *Runtime) sandbox(id string) (*sandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.sandboxes[id]; ok {
		return s, nil
	}
	return nil, status.Errorf(codes.NotFound, "an error occurred when try to find sandbox %q: not found", id)
}

func (r *Runtime) containerDir(id string) string { return filepath.Join(r.opts.Dir, id) }

func newID() string {
	var b [32]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
