package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	componentversion "k8s.io/component-base/version"
)

func kubernetesVersion() string { return componentversion.Get().GitVersion }

// Status is the content of DIR/status.json.
type Status struct {
	Version    string `json:"version"`
	Kubernetes string `json:"kubernetes"`
	// State is starting, ready, degraded, stopping or stopped.
	State      string            `json:"state"`
	PID        int               `json:"pid"` // of the launcher
	Port       int               `json:"port"`
	Kubeconfig string            `json:"kubeconfig"`
	Context    string            `json:"context"`
	StartedAt  time.Time         `json:"startedAt"`
	ReadyAfter float64           `json:"readyAfterSeconds,omitempty"`
	Nodes      []string          `json:"nodes"`
	Components []ComponentStatus `json:"components"`
}

// ComponentStatus is one process of the cluster.
type ComponentStatus struct {
	Name     string `json:"name"`
	State    string `json:"state"` // starting, ready, restarting or stopped
	Restarts int    `json:"restarts"`
}

func statusFile(dir string) string { return filepath.Join(dir, "status.json") }

func readStatus(dir string) (Status, error) {
	var s Status
	data, err := os.ReadFile(statusFile(dir))
	if err != nil {
		return s, fmt.Errorf("no cluster in %s: %w", dir, err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s: %w", statusFile(dir), err)
	}
	return s, nil
}

func writeStatus(dir string, s Status) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	tmp := statusFile(dir) + ".new"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, statusFile(dir))
}

var errLocked = errors.New("the folder is in use")

// lockDir takes the folder for one cluster. The lock lives as long as any
// process of the cluster holds the file open, also when the launcher was killed.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
}

// inUse tells whether a cluster runs on the folder.
func inUse(dir string) bool {
	f, err := lockDir(dir)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, errLocked)
}
