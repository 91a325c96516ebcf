package cri

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// container is one container from create to remove.
type container struct {
	id        string
	sandbox   *sandbox
	config    *runtimeapi.ContainerConfig
	image     *image
	createdAt time.Time
	fs        *filesystem
	log       *containerLog
	memory    *memory
	stop      context.CancelFunc // SIGKILL; nil before the start
	term      chan struct{}      // closed by the first stop signal
	done      chan struct{}      // closed when the container has exited

	mu         sync.Mutex
	state      runtimeapi.ContainerState
	startedAt  time.Time
	finishedAt time.Time
	exitCode   int32
	reason     string
	message    string
	termed     bool
	resources  *runtimeapi.LinuxContainerResources
}

// CreateContainer prepares the files and the log of a container.
func (r *Runtime) CreateContainer(_ context.Context, req *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	s, err := r.sandbox(req.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	cfg := req.GetConfig()
	img := r.images.find(cfg.GetImage().GetImage())
	if img == nil {
		return nil, status.Errorf(codes.NotFound, "failed to resolve image %q: not found", cfg.GetImage().GetImage())
	}
	c := &container{
		id: newID(), sandbox: s, config: cfg, image: img, createdAt: time.Now(),
		state:     runtimeapi.ContainerState_CONTAINER_CREATED,
		resources: cfg.GetLinux().GetResources(),
		term:      make(chan struct{}), done: make(chan struct{}),
	}
	c.memory = newMemory(func() int64 { return c.limits().GetMemoryLimitInBytes() })
	if c.fs, err = newFilesystem(r.containerDir(c.id), img.repo.Files, cfg.GetMounts()); err != nil {
		return nil, status.Errorf(codes.Internal, "failed to create containerd container: %v", err)
	}
	if cfg.GetLogPath() != "" {
		c.log = newContainerLog(filepath.Join(s.config.GetLogDirectory(), cfg.GetLogPath()))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.containers[c.id] = c
	return &runtimeapi.CreateContainerResponse{ContainerId: c.id}, nil
}

// StartContainer starts the program; a missing one fails as runc fails.
func (r *Runtime) StartContainer(_ context.Context, req *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	c, err := r.container(req.GetContainerId())
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != runtimeapi.ContainerState_CONTAINER_CREATED {
		return nil, status.Errorf(codes.FailedPrecondition, "failed to start container %q: it is in state %s", c.id, c.state)
	}
	c.startedAt = time.Now()
	run, err := c.program(r)
	if err == nil && c.log != nil {
		err = c.log.open()
	}
	if err != nil {
		c.exit(128, "StartError", "failed to start containerd task \""+c.id+"\": "+err.Error())
		c.startedAt = time.Unix(0, 0)
		return nil, status.Errorf(codes.Unknown, "failed to start containerd task %q: %v", c.id, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.state = runtimeapi.ContainerState_CONTAINER_RUNNING
	go c.run(ctx, run)
	return &runtimeapi.StartContainerResponse{}, nil
}

// run waits for the program, for the memory limit and for the kill, and records the end.
func (c *container) run(ctx context.Context, program func(context.Context) int32) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan int32, 1)
	go func() { ended <- program(ctx) }()
	code, reason := int32(137), "Error"
	select {
	case code = <-ended:
		if ctx.Err() != nil {
			code = 137
		}
	case <-c.memory.exceeded:
		reason = "OOMKilled"
		cancel()
		<-ended
	case <-ctx.Done():
		<-ended
	}
	if code == 0 {
		reason = "Completed"
	}
	if c.log != nil {
		c.log.close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exit(code, reason, "")
}

// exit needs the lock.
func (c *container) exit(code int32, reason, message string) {
	c.state = runtimeapi.ContainerState_CONTAINER_EXITED
	c.finishedAt = time.Now()
	c.exitCode, c.reason, c.message = code, reason, message
	c.memory.set(0)
	close(c.done)
}

func (c *container) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop()
	}
}

// wait returns when the container has exited; one never started counts as exited.
func (c *container) wait() {
	c.mu.Lock()
	started := c.state != runtimeapi.ContainerState_CONTAINER_CREATED
	c.mu.Unlock()
	if started {
		<-c.done
	}
}

// StopContainer sends the stop signal, waits for the grace period and kills.
func (r *Runtime) StopContainer(ctx context.Context, req *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	c, err := r.container(req.GetContainerId())
	if err != nil {
		return &runtimeapi.StopContainerResponse{}, nil // stopping is idempotent
	}
	c.mu.Lock()
	if c.state != runtimeapi.ContainerState_CONTAINER_RUNNING {
		c.mu.Unlock()
		return &runtimeapi.StopContainerResponse{}, nil
	}
	if req.GetTimeout() > 0 && !c.termed {
		c.termed = true
		close(c.term)
	}
	c.mu.Unlock()
	grace := time.NewTimer(time.Duration(req.GetTimeout()) * time.Second)
	defer grace.Stop()
	select {
	case <-c.done:
	case <-grace.C:
		c.kill()
		<-c.done
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return &runtimeapi.StopContainerResponse{}, nil
}

// RemoveContainer removes a container, killing it when it still runs.
func (r *Runtime) RemoveContainer(_ context.Context, req *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	c, err := r.container(req.GetContainerId())
	if err != nil {
		return &runtimeapi.RemoveContainerResponse{}, nil
	}
	if err := r.remove(c); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &runtimeapi.RemoveContainerResponse{}, nil
}

func (r *Runtime) remove(c *container) error {
	c.kill()
	c.wait()
	r.mu.Lock()
	delete(r.containers, c.id)
	r.mu.Unlock()
	if err := os.RemoveAll(r.containerDir(c.id)); err != nil {
		return fmt.Errorf("remove container %s: %w", c.id, err)
	}
	return nil
}

// ListContainers lists containers by id, sandbox, state and labels.
func (r *Runtime) ListContainers(_ context.Context, req *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	f := req.GetFilter()
	r.mu.Lock()
	defer r.mu.Unlock()
	resp := &runtimeapi.ListContainersResponse{}
	for c := range maps.Values(r.containers) {
		p := c.proto()
		if f.GetId() != "" && f.GetId() != c.id || f.GetPodSandboxId() != "" && f.GetPodSandboxId() != c.sandbox.id ||
			f.GetState() != nil && f.GetState().GetState() != p.State || !hasLabels(p.Labels, f.GetLabelSelector()) {
			continue
		}
		resp.Containers = append(resp.Containers, p)
	}
	return resp, nil
}

func (c *container) proto() *runtimeapi.Container {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &runtimeapi.Container{
		Id: c.id, PodSandboxId: c.sandbox.id, Metadata: c.config.GetMetadata(), Image: c.config.GetImage(),
		ImageRef: c.image.ID, ImageId: c.image.ID, State: c.state, CreatedAt: c.createdAt.UnixNano(),
		Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(),
	}
}

// ContainerStatus tells about one container.
func (r *Runtime) ContainerStatus(_ context.Context, req *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	c, err := r.container(req.GetContainerId())
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	st := &runtimeapi.ContainerStatus{
		Id: c.id, Metadata: c.config.GetMetadata(), State: c.state, CreatedAt: c.createdAt.UnixNano(),
		ExitCode: c.exitCode, Reason: c.reason, Message: c.message,
		Image:    &runtimeapi.ImageSpec{Image: c.image.RepoTags[0], UserSpecifiedImage: c.config.GetImage().GetUserSpecifiedImage()},
		ImageRef: c.image.RepoDigests[0], ImageId: c.image.ID,
		Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(), Mounts: c.config.GetMounts(),
		Resources: &runtimeapi.ContainerResources{Linux: c.resources},
		User: &runtimeapi.ContainerUser{Linux: &runtimeapi.LinuxContainerUser{
			Uid: c.uid(), Gid: c.gid(), SupplementalGroups: []int64{c.gid()},
		}},
	}
	if c.log != nil {
		st.LogPath = c.log.path
	}
	if !c.startedAt.IsZero() {
		st.StartedAt = c.startedAt.UnixNano()
	}
	if !c.finishedAt.IsZero() {
		st.FinishedAt = c.finishedAt.UnixNano()
	}
	return &runtimeapi.ContainerStatusResponse{Status: st}, nil
}

// UpdateContainerResources takes new limits; a memory limit under the use kills.
func (r *Runtime) UpdateContainerResources(_ context.Context, req *runtimeapi.UpdateContainerResourcesRequest) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	c, err := r.container(req.GetContainerId())
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.resources = req.GetLinux()
	c.mu.Unlock()
	c.memory.check()
	return &runtimeapi.UpdateContainerResourcesResponse{}, nil
}

// ReopenContainerLog follows a log rotation of the kubelet.
func (r *Runtime) ReopenContainerLog(_ context.Context, req *runtimeapi.ReopenContainerLogRequest) (*runtimeapi.ReopenContainerLogResponse, error) {
	c, err := r.container(req.GetContainerId())
	if err != nil {
		return nil, err
	}
	if c.log != nil {
		if err := c.log.open(); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return &runtimeapi.ReopenContainerLogResponse{}, nil
}

func (c *container) limits() *runtimeapi.LinuxContainerResources {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resources
}

// uid is the user the program would run as.
func (c *container) uid() int64 {
	sc := c.config.GetLinux().GetSecurityContext()
	if sc.GetRunAsUser() != nil {
		return sc.GetRunAsUser().GetValue()
	}
	if uid, ok := numericUser(c.image.repo.User); ok {
		return uid
	}
	return 100 // a named user of the image; its passwd is not simulated
}

func (c *container) gid() int64 {
	if g := c.config.GetLinux().GetSecurityContext().GetRunAsGroup(); g != nil {
		return g.GetValue()
	}
	return 0
}
