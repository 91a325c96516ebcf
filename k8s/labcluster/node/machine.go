package node

import (
	"bufio"
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	cadvisorapi "github.com/google/cadvisor/lib/model"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
)

// machine answers the kubelet's questions about the machine with the facts of
// the one it runs on. All nodes of a cluster share them.
type machine struct {
	name string
	dir  string
}

var _ cadvisor.Interface = machine{}

func newMachine(name, dir string) machine { return machine{name, dir} }

func (machine) Start() error { return nil }

func (m machine) MachineInfo(klog.Logger) (*cadvisorapi.MachineInfo, error) {
	mem := meminfo()
	return &cadvisorapi.MachineInfo{
		Timestamp: time.Now(), NumCores: runtime.NumCPU(), NumPhysicalCores: runtime.NumCPU(), NumSockets: 1,
		MemoryCapacity: mem["MemTotal"], SwapCapacity: mem["SwapTotal"],
		MachineID: firstLine("/etc/machine-id"), SystemUUID: firstLine("/etc/machine-id"), BootID: firstLine("/proc/sys/kernel/random/boot_id"),
	}, nil
}

func (machine) VersionInfo() (*cadvisorapi.VersionInfo, error) {
	return &cadvisorapi.VersionInfo{KernelVersion: firstLine("/proc/sys/kernel/osrelease"), ContainerOsVersion: osName()}, nil
}

// ContainerInfoV2 knows one container, the whole machine.
func (m machine) ContainerInfoV2(name string, _ cadvisorapi.RequestOptions) (map[string]cadvisorapi.ContainerInfo, error) {
	// The kubelet names the root of all Pods with the empty string; there are no cgroups to tell them apart.
	if name != "/" && name != "" {
		return map[string]cadvisorapi.ContainerInfo{}, nil
	}
	mem := meminfo()
	used := mem["MemTotal"] - mem["MemAvailable"]
	usage := cpuTime()
	return map[string]cadvisorapi.ContainerInfo{name: {
		Spec: cadvisorapi.ContainerSpec{
			CreationTime: bootTime(), HasCpu: true, HasMemory: true,
			Memory: cadvisorapi.MemorySpec{Limit: mem["MemTotal"]},
		},
		Stats: []*cadvisorapi.ContainerStats{{
			Timestamp: time.Now(),
			Cpu:       &cadvisorapi.CpuStats{Usage: cadvisorapi.CpuUsage{Total: usage}},
			Memory:    &cadvisorapi.MemoryStats{Usage: used, WorkingSet: used, RSS: used},
		}},
	}}, nil
}

func (machine) GetRequestedContainersInfo(string, cadvisorapi.RequestOptions) (map[string]*cadvisorapi.ContainerInfo, error) {
	return map[string]*cadvisorapi.ContainerInfo{}, nil
}

func (m machine) ImagesFsInfo(context.Context) (cadvisorapi.FsInfo, error)    { return fsInfo(m.dir) }
func (m machine) RootFsInfo() (cadvisorapi.FsInfo, error)                     { return fsInfo(m.dir) }
func (m machine) ContainerFsInfo(context.Context) (cadvisorapi.FsInfo, error) { return fsInfo(m.dir) }
func (m machine) GetDirFsInfo(path string) (cadvisorapi.FsInfo, error)        { return fsInfo(path) }

func fsInfo(dir string) (cadvisorapi.FsInfo, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return cadvisorapi.FsInfo{}, err
	}
	size := uint64(fs.Bsize)
	inodes, free := fs.Files, fs.Ffree
	return cadvisorapi.FsInfo{
		Timestamp: time.Now(), Mountpoint: dir, Capacity: fs.Blocks * size,
		Available: fs.Bavail * size, Usage: (fs.Blocks - fs.Bfree) * size, Inodes: &inodes, InodesFree: &free,
	}, nil
}

func firstLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}

// osName is the PRETTY_NAME of the machine's system.
func osName() string {
	data, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "Linux"
	}
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(v, `"'`)
		}
	}
	return "Linux"
}

// meminfo reads /proc/meminfo into bytes.
func meminfo() map[string]uint64 {
	out := map[string]uint64{}
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return out
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		key, rest, _ := strings.Cut(s.Text(), ":")
		if n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil {
			out[key] = n * 1024
		}
	}
	return out
}

// cpuTime is the busy time of all cores since the boot, in nanoseconds.
func cpuTime() uint64 {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux
	fields := strings.Fields(firstLine("/proc/stat"))
	var busy uint64
	for i, f := range fields {
		// The fields are: cpu user nice system idle iowait irq softirq steal.
		if i == 0 || i == 4 || i == 5 || i > 8 {
			continue
		}
		n, _ := strconv.ParseUint(f, 10, 64)
		busy += n
	}
	return busy * uint64(tick)
}

func bootTime() time.Time {
	up, _, _ := strings.Cut(firstLine("/proc/uptime"), " ")
	seconds, _ := strconv.ParseFloat(up, 64)
	return time.Now().Add(-time.Duration(seconds * float64(time.Second)))
}
