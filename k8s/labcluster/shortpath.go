package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// nodesAt is where the folders of the nodes are seen inside the cluster's mount
// namespace. A Unix socket's path is at most 107 bytes, and the kubelet makes
// sockets deep below its folder: below --data they would often be too long.
const nodesAt = "/mnt"

// nodesDir makes DIR/nodes and returns the short path to it. Where the short one
// cannot be had, the long one serves as far as it goes.
func nodesDir(dir string) (string, error) {
	long := filepath.Join(dir, "nodes")
	if err := os.MkdirAll(long, 0o700); err != nil {
		return "", fmt.Errorf("folder of the nodes: %w", err)
	}
	if sameFile(long, nodesAt) {
		return nodesAt, nil // mounted for an earlier node
	}
	if err := unix.Mount(long, nodesAt, "", unix.MS_BIND, ""); err != nil {
		return long, nil
	}
	return nodesAt, nil
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
