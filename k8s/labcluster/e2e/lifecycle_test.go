package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unprivileged is the user the life cycle is tested as: nobody when the tests run as root.
func unprivileged(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// homeOf makes a folder that the user may write to.
func homeOf(t *testing.T, who *syscall.Credential) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("files are left that cannot be removed: %v", err)
		}
	})
	if who != nil {
		if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// reachable copies the binary to where any user can run it.
func reachable(t *testing.T, dir string) string {
	t.Helper()
	bin := filepath.Join(dir, "labcluster")
	data, err := os.ReadFile(binary(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bin, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return bin
}

// TestLifeOfAnUnprivilegedCluster runs beside the shared cluster, so it shows as
// well that two clusters on one machine do not meet.
func TestLifeOfAnUnprivilegedCluster(t *testing.T) {
	sharedCluster(t)
	who := unprivileged(t)
	home := homeOf(t, who)
	bin, dir := reachable(t, home), filepath.Join(home, "c")

	c, err := launch(bin, dir, who)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	n := &namespace{c, t, "default"}
	cm := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"k": "v"}}
	if _, err := c.client.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.create(webDeployment(nil))
	n.awaitRollout()

	again, err := exec.Command(bin, "up", "--data", dir).CombinedOutput()
	if err != nil || !strings.Contains(string(again), "already running") {
		t.Errorf("a second up says %q, %v", again, err)
	}

	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.ended
	assertGone(t, dir)
	if out, err := exec.Command(bin, "status", "--data", dir).CombinedOutput(); err == nil {
		t.Errorf("status of a killed cluster must fail, says %s", out)
	}

	c, err = launch(bin, dir, who)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	got, err := c.client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil || got.Data["k"] != "v" {
		t.Errorf("the object is not there after a restart: %v", err)
	}
	n = &namespace{c, t, "default"}
	n.awaitRollout()
	eventually(t, stepTimeout, func(ctx context.Context) error {
		pods, err := n.pods(ctx)
		if err != nil {
			return err
		}
		for i := range pods {
			if page, err := n.get(pods[i].Name, "80", "/"); err != nil || !strings.Contains(page, "Welcome") {
				return fmt.Errorf("after the restart %s serves %q, %v", pods[i].Name, page, err)
			}
		}
		return nil
	})

	out, err := exec.Command(bin, "down", "--data", dir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "stopped") {
		t.Errorf("down says %q, %v", out, err)
	}
	<-c.ended
	assertGone(t, dir)
	if s, err := readStatus(dir); err != nil || s.State != "stopped" {
		t.Errorf("status.json says %+v, %v", s, err)
	}
}

func assertGone(t *testing.T, dir string) {
	t.Helper()
	eventually(t, stepTimeout, func(context.Context) error {
		if left := processesOf("--data-dir=" + filepath.Join(dir, "etcd")); len(left) > 0 {
			return fmt.Errorf("still running: %v", left)
		}
		if left := processesOf(dir); len(left) > 0 {
			return fmt.Errorf("still running: %v", left)
		}
		return nil
	})
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err == nil && strings.Contains(string(mounts), dir) {
		t.Errorf("a mount is left under %s", dir)
	}
}

func TestEndsWithItsParent(t *testing.T) {
	bin := binary(t)
	home := homeOf(t, nil)
	dir := filepath.Join(home, "c")
	// The shell is the parent; it waits so that it stays in between.
	sh := exec.Command("sh", "-c", `"$0" up --data "$1" & wait`, bin, dir)
	out := &output{}
	sh.Stdout, sh.Stderr = out, out
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, upTimeout, func(context.Context) error {
		if !strings.Contains(out.String(), "kube-apiserver") {
			return fmt.Errorf("not started yet: %s", out)
		}
		return nil
	})
	if err := sh.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	assertGone(t, dir)
	_ = sh.Wait()
}

func TestCrashedComponentComesBack(t *testing.T) {
	c := sharedCluster(t)
	scheduler := processesOfPID("kube-scheduler", c.dir)
	if len(scheduler) != 1 {
		t.Fatalf("found %d schedulers", len(scheduler))
	}
	if err := syscall.Kill(scheduler[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, stepTimeout, func(context.Context) error {
		now := processesOfPID("kube-scheduler", c.dir)
		if len(now) == 1 && now[0] != scheduler[0] {
			return nil
		}
		return fmt.Errorf("schedulers now: %v", now)
	})
	n := c.namespace(t, "after-crash")
	n.create(webDeployment(nil))
	n.awaitRollout()
}

// processesOfPID finds a component of the cluster on dir.
func processesOfPID(component, dir string) []int {
	var pids []int
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		argv := strings.Split(string(data), "\x00")
		if len(argv) > 2 && argv[1] == component && strings.Contains(string(data), dir+"/") {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}
