package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"go.uber.org/zap"

	"labbot/bot/text"
	"labbot/k8s"
)

// clusterTime bounds the start of the embedded cluster; on two busy cores it
// takes about 15 s.
const clusterTime = 3 * time.Minute

// demoCluster opens the given cluster, or starts the embedded one.
func demoCluster(ctx context.Context, o demoOptions, p printer, logger *zap.Logger) (*k8s.Cluster, func(), error) {
	if o.kubeconfig != "" {
		return givenCluster(ctx, o, p)
	}
	if runtime.GOOS != "linux" {
		return nil, nil, errors.New(text.T(p.lang, "demo.needs-kubeconfig", "os", runtime.GOOS))
	}
	path, err := findLabcluster(o.labcluster)
	if err != nil {
		return nil, nil, errors.New(text.T(p.lang, "demo.no-labcluster"))
	}
	data := filepath.Join(o.data, "cluster")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, nil, err
	}
	kubeconfig := filepath.Join(data, "kubeconfig")
	begun := time.Now()
	p.say("demo.cluster-starting")
	ready := make(chan struct{})
	c, err := startChild("labcluster", path, []string{"up", "--data", data}, func(line string) {
		logger.Info("labcluster", zap.String("line", line))
		if strings.HasPrefix(line, "ready in ") {
			select {
			case <-ready:
			default:
				close(ready)
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	err = c.await(ctx, clusterTime, func() error {
		select {
		case <-ready:
			return nil
		default:
			return errors.New("it has not said that it is ready")
		}
	})
	if err != nil {
		c.stop()
		return nil, nil, err
	}
	cluster, err := openCluster(kubeconfig, "")
	if err != nil {
		c.stop()
		return nil, nil, err
	}
	p.say("demo.cluster-ready", "seconds", fmt.Sprintf("%.1f", time.Since(begun).Seconds()), "kubeconfig", kubeconfig)
	go watchChild(c, p, "demo.cluster-died")
	return cluster, c.stop, nil
}

// watchChild says so when a child ends that should not have.
func watchChild(c *child, p printer, key string) {
	<-c.done
	if c.stopping.Load() {
		return
	}
	p.say(key, "error", c.died().Error())
}

// findLabcluster looks beside this binary, then on PATH.
func findLabcluster(given string) (string, error) {
	if given != "" {
		return exec.LookPath(given)
	}
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), "labcluster")); err == nil {
				return path, nil
			}
		}
	}
	return exec.LookPath("labcluster")
}

// givenCluster opens somebody's cluster, once its context's name was given back.
func givenCluster(ctx context.Context, o demoOptions, p printer) (*k8s.Cluster, func(), error) {
	// Opening reads the file; the cluster itself is not asked before the yes.
	cluster, err := openCluster(o.kubeconfig, "")
	if err != nil {
		return nil, nil, err
	}
	name, server := cluster.Place()
	typed := o.yesContext
	if typed == "" {
		p.say("demo.confirm", "context", name, "server", server)
		if typed, err = readLine(ctx, bufio.NewReader(o.in)); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", text.T(p.lang, "demo.not-confirmed", "context", name), err)
		}
	}
	if typed != name {
		return nil, nil, errors.New(text.T(p.lang, "demo.not-confirmed", "context", name))
	}
	pctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := cluster.Ping(pctx); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", server, err)
	}
	p.say("demo.cluster-given", "context", name, "server", server)
	return cluster, func() {}, nil
}

// readLine reads one line without outliving ctx.
func readLine(ctx context.Context, r *bufio.Reader) (string, error) {
	type line struct {
		s   string
		err error
	}
	got := make(chan line, 1)
	go func() {
		s, err := r.ReadString('\n')
		got <- line{strings.TrimSpace(s), err}
	}()
	select {
	case l := <-got:
		if l.s != "" {
			return l.s, nil
		}
		return "", l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// sweepTime bounds the removal of what an earlier demo left on its cluster.
const sweepTime = time.Minute

// sweepEmbedded removes the namespaces of runs that ended with an earlier demo's
// records. The embedded cluster has no other user.
func sweepEmbedded(ctx context.Context, cluster *k8s.Cluster, p printer) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	owned, err := cluster.Owned(ctx)
	if err != nil {
		return err
	}
	for _, o := range owned {
		p.say("demo.left-over", "namespace", o.Name)
		for gone := false; !gone; {
			var remains string
			if gone, remains, err = cluster.DeleteOwned(ctx, o.Name, o.UID); err != nil {
				return fmt.Errorf("namespace %s of an earlier demo: %w", o.Name, err)
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("namespace %s of an earlier demo is not gone after %s: %s", o.Name, sweepTime, remains)
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
	return nil
}
