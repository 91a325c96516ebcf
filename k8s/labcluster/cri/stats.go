package cri

import (
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// idleCPU is the share of a core that a running simulated container is said to
// use. There is no process to measure; the memory figure is the behaviour's own.
const idleCPU = 0.001

func (c *container) stats(now time.Time) *runtimeapi.ContainerStats {
	c.mu.Lock()
	running := c.state == runtimeapi.ContainerState_CONTAINER_RUNNING
	started := c.startedAt
	c.mu.Unlock()
	at := now.UnixNano()
	st := &runtimeapi.ContainerStats{
		Attributes: &runtimeapi.ContainerAttributes{
			Id: c.id, Metadata: c.config.GetMetadata(), Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(),
		},
		WritableLayer: writableLayer(c.fs.dir, at),
	}
	if !running {
		return st
	}
	used := uint64(c.memory.get())
	st.Cpu = &runtimeapi.CpuUsage{
		Timestamp:            at,
		UsageCoreNanoSeconds: &runtimeapi.UInt64Value{Value: uint64(float64(now.Sub(started).Nanoseconds()) * idleCPU)},
		UsageNanoCores:       &runtimeapi.UInt64Value{Value: uint64(idleCPU * 1e9)},
	}
	st.Memory = &runtimeapi.MemoryUsage{
		Timestamp: at, WorkingSetBytes: &runtimeapi.UInt64Value{Value: used},
		UsageBytes: &runtimeapi.UInt64Value{Value: used}, RssBytes: &runtimeapi.UInt64Value{Value: used},
		AvailableBytes: &runtimeapi.UInt64Value{}, PageFaults: &runtimeapi.UInt64Value{}, MajorPageFaults: &runtimeapi.UInt64Value{},
	}
	if limit := c.limits().GetMemoryLimitInBytes(); limit > int64(used) {
		st.Memory.AvailableBytes.Value = uint64(limit) - used
	}
	st.Swap = &runtimeapi.SwapUsage{Timestamp: at, SwapAvailableBytes: &runtimeapi.UInt64Value{}, SwapUsageBytes: &runtimeapi.UInt64Value{}}
	return st
}

func writableLayer(dir string, at int64) *runtimeapi.FilesystemUsage {
	var bytes, inodes uint64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // the container is being removed
		}
		inodes++
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += uint64(info.Size())
		}
		return nil
	})
	return &runtimeapi.FilesystemUsage{
		Timestamp: at, FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: filepath.Dir(dir)},
		UsedBytes: &runtimeapi.UInt64Value{Value: bytes}, InodesUsed: &runtimeapi.UInt64Value{Value: inodes},
	}
}

// ContainerStats gives the figures of one container.
func (r *Runtime) ContainerStats(_ context.Context, req *runtimeapi.ContainerStatsRequest) (*runtimeapi.ContainerStatsResponse, error) {
	c, err := r.container(req.GetContainerId())
	if err != nil {
		return nil, err
	}
	return &runtimeapi.ContainerStatsResponse{Stats: c.stats(time.Now())}, nil
}

// ListContainerStats gives the figures of all containers that the filter names.
func (r *Runtime) ListContainerStats(_ context.Context, req *runtimeapi.ListContainerStatsRequest) (*runtimeapi.ListContainerStatsResponse, error) {
	f, now := req.GetFilter(), time.Now()
	resp := &runtimeapi.ListContainerStatsResponse{}
	for _, c := range r.allContainers() {
		if f.GetId() != "" && f.GetId() != c.id || f.GetPodSandboxId() != "" && f.GetPodSandboxId() != c.sandbox.id ||
			!hasLabels(c.config.GetLabels(), f.GetLabelSelector()) {
			continue
		}
		resp.Stats = append(resp.Stats, c.stats(now))
	}
	return resp, nil
}

func (r *Runtime) allContainers() []*container {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*container, 0, len(r.containers))
	for c := range maps.Values(r.containers) {
		all = append(all, c)
	}
	return all
}

// PodSandboxStats gives the figures of one Pod.
func (r *Runtime) PodSandboxStats(_ context.Context, req *runtimeapi.PodSandboxStatsRequest) (*runtimeapi.PodSandboxStatsResponse, error) {
	s, err := r.sandbox(req.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	return &runtimeapi.PodSandboxStatsResponse{Stats: r.sandboxStats(s, time.Now())}, nil
}

// ListPodSandboxStats gives the figures of all Pods that the filter names.
func (r *Runtime) ListPodSandboxStats(_ context.Context, req *runtimeapi.ListPodSandboxStatsRequest) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	f, now := req.GetFilter(), time.Now()
	r.mu.Lock()
	var all []*sandbox
	for s := range maps.Values(r.sandboxes) {
		if s.ready && (f.GetId() == "" || f.GetId() == s.id) && hasLabels(s.config.GetLabels(), f.GetLabelSelector()) {
			all = append(all, s)
		}
	}
	r.mu.Unlock()
	resp := &runtimeapi.ListPodSandboxStatsResponse{}
	for _, s := range all {
		resp.Stats = append(resp.Stats, r.sandboxStats(s, now))
	}
	return resp, nil
}

func (r *Runtime) sandboxStats(s *sandbox, now time.Time) *runtimeapi.PodSandboxStats {
	at := now.UnixNano()
	linux := &runtimeapi.LinuxPodSandboxStats{
		Cpu:     &runtimeapi.CpuUsage{Timestamp: at, UsageCoreNanoSeconds: &runtimeapi.UInt64Value{}, UsageNanoCores: &runtimeapi.UInt64Value{}},
		Memory:  &runtimeapi.MemoryUsage{Timestamp: at, WorkingSetBytes: &runtimeapi.UInt64Value{}, UsageBytes: &runtimeapi.UInt64Value{}, RssBytes: &runtimeapi.UInt64Value{}},
		Process: &runtimeapi.ProcessUsage{Timestamp: at, ProcessCount: &runtimeapi.UInt64Value{}},
		Network: &runtimeapi.NetworkUsage{Timestamp: at, DefaultInterface: &runtimeapi.NetworkInterfaceUsage{
			Name: "eth0", RxBytes: &runtimeapi.UInt64Value{}, RxErrors: &runtimeapi.UInt64Value{},
			TxBytes: &runtimeapi.UInt64Value{}, TxErrors: &runtimeapi.UInt64Value{},
		}},
	}
	for _, c := range r.containersOf(s.id) {
		st := c.stats(now)
		linux.Containers = append(linux.Containers, st)
		if st.Cpu == nil {
			continue
		}
		linux.Cpu.UsageCoreNanoSeconds.Value += st.Cpu.UsageCoreNanoSeconds.Value
		linux.Cpu.UsageNanoCores.Value += st.Cpu.UsageNanoCores.Value
		linux.Memory.WorkingSetBytes.Value += st.Memory.WorkingSetBytes.Value
		linux.Memory.UsageBytes.Value += st.Memory.UsageBytes.Value
		linux.Memory.RssBytes.Value += st.Memory.RssBytes.Value
		linux.Process.ProcessCount.Value++
	}
	return &runtimeapi.PodSandboxStats{
		Attributes: &runtimeapi.PodSandboxAttributes{
			Id: s.id, Metadata: s.config.GetMetadata(), Labels: s.config.GetLabels(), Annotations: s.config.GetAnnotations(),
		},
		Linux: linux,
	}
}

// ListMetricDescriptors is empty: the stats say all there is.
func (r *Runtime) ListMetricDescriptors(context.Context, *runtimeapi.ListMetricDescriptorsRequest) (*runtimeapi.ListMetricDescriptorsResponse, error) {
	return &runtimeapi.ListMetricDescriptorsResponse{}, nil
}

// ListPodSandboxMetrics is empty: there is no cgroup to take them from.
func (r *Runtime) ListPodSandboxMetrics(context.Context, *runtimeapi.ListPodSandboxMetricsRequest) (*runtimeapi.ListPodSandboxMetricsResponse, error) {
	return &runtimeapi.ListPodSandboxMetricsResponse{}, nil
}

// CheckpointContainer is not simulated.
func (r *Runtime) CheckpointContainer(context.Context, *runtimeapi.CheckpointContainerRequest) (*runtimeapi.CheckpointContainerResponse, error) {
	return nil, status.Error(codes.Unimplemented, "checkpoints are not simulated")
}
