// Package netns puts a whole cluster into namespaces of its own.
//
// The cluster gets a user, process, network, mount and host name namespace. So it
// needs no root, uses the standard ports of Kubernetes without meeting another
// cluster's, gives every Pod an address that can be listened on, and ends whole
// when its first process ends.
package netns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// ErrForbidden means that the system refuses the namespaces to this user.
var ErrForbidden = errors.New(`this system forbids user namespaces to this user; allow them with one of
  sysctl -w user.max_user_namespaces=10000
  sysctl -w kernel.unprivileged_userns_clone=1               (older Debian)
  sysctl -w kernel.apparmor_restrict_unprivileged_userns=0   (Ubuntu 23.10 and later)
  docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined …   (in a container)`)

// Start runs cmd as the first process of new namespaces. The calling goroutine
// must stay locked to its thread until the command has ended: the kernel kills
// the command when that thread dies.
func Start(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
		// Ctrl+C must reach the launcher only; it stops the cluster in order.
		Setpgid: true,
	}
	err := cmd.Start()
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EUSERS), errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("%w\n(%v)", ErrForbidden, err)
	case err != nil:
		return fmt.Errorf("start the cluster's first process: %w", err)
	}
	return nil
}
