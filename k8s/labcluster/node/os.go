package node

import (
	"os"
	"strings"

	"k8s.io/kubernetes/pkg/kubelet"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
)

// redirectedOS moves the one folder whose place the kubelet has fixed, the
// symbolic links to container logs, into the node's own state.
type redirectedOS struct {
	kubecontainer.RealOS
	logs string
}

func (o redirectedOS) path(name string) string {
	if rest, ok := strings.CutPrefix(name, kubelet.DefaultContainerLogsDir); ok {
		return o.logs + rest
	}
	return name
}

func (o redirectedOS) MkdirAll(name string, perm os.FileMode) error {
	return o.RealOS.MkdirAll(o.path(name), perm)
}

func (o redirectedOS) Symlink(oldname, newname string) error {
	return o.RealOS.Symlink(oldname, o.path(newname))
}

func (o redirectedOS) Stat(name string) (os.FileInfo, error) { return o.RealOS.Stat(o.path(name)) }
func (o redirectedOS) Remove(name string) error              { return o.RealOS.Remove(o.path(name)) }
func (o redirectedOS) RemoveAll(name string) error           { return o.RealOS.RemoveAll(o.path(name)) }
func (o redirectedOS) Glob(pattern string) ([]string, error) { return o.RealOS.Glob(o.path(pattern)) }
func (o redirectedOS) ReadDir(name string) ([]os.DirEntry, error) {
	return o.RealOS.ReadDir(o.path(name))
}
