package node

import (
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm"
)

// containerManager manages no cgroups; it only knows the size of the disk.
type containerManager struct {
	cm.ContainerManager
	dir string
}

func newContainerManager(dir string) cm.ContainerManager {
	return &containerManager{ContainerManager: cm.NewStubContainerManager(), dir: dir}
}

// GetCapacity is the ephemeral storage of the node.
func (m *containerManager) GetCapacity(_ klog.Logger, isolation bool) v1.ResourceList {
	var fs unix.Statfs_t
	if !isolation || unix.Statfs(m.dir, &fs) != nil {
		return v1.ResourceList{}
	}
	return v1.ResourceList{
		v1.ResourceEphemeralStorage: *resource.NewQuantity(int64(fs.Blocks)*fs.Bsize, resource.BinarySI),
	}
}
