package main

import (
	"runtime"
	"syscall"
)

// childAttr has the kernel end the child when the demo dies, whatever way. The
// signal is bound to the thread that starts the child, so start keeps a thread
// alive for that alone.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func (c *child) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for as long as the child lives
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			<-c.done
		}
	}()
	return <-started
}
