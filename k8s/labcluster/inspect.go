package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

const downTimeout = 30 * time.Second

func status(dir string, out io.Writer) error {
	s, err := readStatus(dir)
	if err != nil {
		return err
	}
	if !inUse(dir) {
		return fmt.Errorf("the cluster in %s is not running", dir)
	}
	fmt.Fprintf(out, "%s (pid %d), Kubernetes %s, kubeconfig %s, context %s\n", s.State, s.PID, s.Kubernetes, s.Kubeconfig, s.Context)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "COMPONENT\tSTATE\tRESTARTS")
	for _, c := range s.Components {
		fmt.Fprintf(w, "%s\t%s\t%d\n", c.Name, c.State, c.Restarts)
	}
	return w.Flush()
}

func down(dir string, out io.Writer) error {
	s, err := readStatus(dir)
	if err != nil {
		return err
	}
	if !inUse(dir) {
		fmt.Fprintln(out, "not running")
		return nil
	}
	// The folder's lock is held, so the recorded pid is of a living launcher.
	if err := syscall.Kill(s.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop pid %d: %w", s.PID, err)
	}
	for deadline := time.Now().Add(downTimeout); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if !inUse(dir) {
			fmt.Fprintln(out, "stopped")
			return nil
		}
	}
	return fmt.Errorf("pid %d has not stopped in %s", s.PID, downTimeout)
}

func logs(dir, component string, out io.Writer) error {
	files, err := filepath.Glob(filepath.Join(dir, "logs", "*.log"))
	if err != nil {
		return err
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".log"))
	}
	if !slices.Contains(names, component) {
		return fmt.Errorf("no log of %q in %s; there are: %s", component, dir, strings.Join(names, ", "))
	}
	f, err := os.Open(filepath.Join(dir, "logs", component+".log"))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(out, f)
	return err
}
