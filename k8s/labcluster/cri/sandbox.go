package cri

import (
	"context"
	"maps"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sandbox is the Pod-level environment: an address and a name. Its fields are
// guarded by Runtime.mu.
type sandbox struct {
	id        string
	config    *runtimeapi.PodSandboxConfig
	handler   string
	createdAt time.Time
	ready     bool
	ip        string // empty in the host network, as containerd reports it
}

func (s *sandbox) hostNetwork() bool {
	return s.config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetNetwork() == runtimeapi.NamespaceMode_NODE
}

func (s *sandbox) proto() *runtimeapi.PodSandbox {
	return &runtimeapi.PodSandbox{
		Id: s.id, Metadata: s.config.GetMetadata(), State: s.state(), CreatedAt: s.createdAt.UnixNano(),
		Labels: s.config.GetLabels(), Annotations: s.config.GetAnnotations(), RuntimeHandler: s.handler,
	}
}

func (s *sandbox) state() runtimeapi.PodSandboxState {
	if s.ready {
		return runtimeapi.PodSandboxState_SANDBOX_READY
	}
	return runtimeapi.PodSandboxState_SANDBOX_NOTREADY
}

// RunPodSandbox gives a Pod its address.
func (r *Runtime) RunPodSandbox(_ context.Context, req *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	s := &sandbox{id: newID(), config: req.GetConfig(), handler: req.GetRuntimeHandler(), createdAt: time.Now(), ready: true}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.handler != "" {
		return nil, status.Errorf(codes.Unknown, "failed to get sandbox runtime: no runtime for %q is configured", s.handler)
	}
	if !s.hostNetwork() {
		if r.pool == nil {
			return nil, status.Error(codes.Unavailable, "failed to setup network for sandbox: the node has no Pod CIDR yet")
		}
		ip, err := r.pool.take()
		if err != nil {
			return nil, status.Errorf(codes.ResourceExhausted, "failed to setup network for sandbox %q: %v", s.id, err)
		}
		s.ip = ip
	}
	r.sandboxes[s.id] = s
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: s.id}, nil
}

// StopPodSandbox kills what still runs in it and gives the address back.
func (r *Runtime) StopPodSandbox(_ context.Context, req *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	s, err := r.sandbox(req.GetPodSandboxId())
	if err != nil {
		return &runtimeapi.StopPodSandboxResponse{}, nil // stopping is idempotent
	}
	for _, c := range r.containersOf(s.id) {
		c.kill()
		c.wait()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.ready && s.ip != "" {
		r.pool.giveBack(s.ip)
	}
	s.ready = false
	return &runtimeapi.StopPodSandboxResponse{}, nil
}

// RemovePodSandbox removes a sandbox and its containers.
func (r *Runtime) RemovePodSandbox(ctx context.Context, req *runtimeapi.RemovePodSandboxRequest) (*runtimeapi.RemovePodSandboxResponse, error) {
	id := req.GetPodSandboxId()
	if _, err := r.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return nil, err
	}
	for _, c := range r.containersOf(id) {
		if err := r.remove(c); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sandboxes, id)
	return &runtimeapi.RemovePodSandboxResponse{}, nil
}

// PodSandboxStatus tells about one sandbox.
func (r *Runtime) PodSandboxStatus(_ context.Context, req *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	s, err := r.sandbox(req.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &runtimeapi.PodSandboxStatusResponse{Status: &runtimeapi.PodSandboxStatus{
		Id: s.id, Metadata: s.config.GetMetadata(), State: s.state(), CreatedAt: s.createdAt.UnixNano(),
		Network: &runtimeapi.PodSandboxNetworkStatus{Ip: s.ip},
		Linux: &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{
			Options: s.config.GetLinux().GetSecurityContext().GetNamespaceOptions(),
		}},
		Labels: s.config.GetLabels(), Annotations: s.config.GetAnnotations(), RuntimeHandler: s.handler,
	}}, nil
}

// ListPodSandbox lists sandboxes by id, state and labels.
func (r *Runtime) ListPodSandbox(_ context.Context, req *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	f := req.GetFilter()
	r.mu.Lock()
	defer r.mu.Unlock()
	resp := &runtimeapi.ListPodSandboxResponse{}
	for _, s := range r.sandboxes {
		if f.GetId() != "" && f.GetId() != s.id || f.GetState() != nil && f.GetState().GetState() != s.state() ||
			!hasLabels(s.config.GetLabels(), f.GetLabelSelector()) {
			continue
		}
		resp.Items = append(resp.Items, s.proto())
	}
	return resp, nil
}

// UpdatePodSandboxResources accepts a resize; nothing is limited at this level.
func (r *Runtime) UpdatePodSandboxResources(context.Context, *runtimeapi.UpdatePodSandboxResourcesRequest) (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
	return &runtimeapi.UpdatePodSandboxResourcesResponse{}, nil
}

func (r *Runtime) containersOf(sandboxID string) []*container {
	r.mu.Lock()
	defer r.mu.Unlock()
	var of []*container
	for c := range maps.Values(r.containers) {
		if c.sandbox.id == sandboxID {
			of = append(of, c)
		}
	}
	return of
}

func hasLabels(labels, want map[string]string) bool {
	for k, v := range want {
		if labels[k] != v {
			return false
		}
	}
	return true
}
