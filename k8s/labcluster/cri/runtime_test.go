package cri

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// bench is a runtime with one sandbox whose address is a loopback one.
type bench struct {
	*Runtime
	t       *testing.T
	sandbox string
	ip      string
	logs    string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	rt, err := NewRuntime(Options{
		Images: newImages(t, t.TempDir()), Dir: filepath.Join(t.TempDir(), "c"), Version: "test", NodeIP: "127.0.0.1",
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rt.Close)
	ctx := t.Context()
	if _, err := rt.UpdateRuntimeConfig(ctx, &runtimeapi.UpdateRuntimeConfigRequest{RuntimeConfig: &runtimeapi.RuntimeConfig{
		NetworkConfig: &runtimeapi.NetworkConfig{PodCidr: "127.0.77.0/24"},
	}}); err != nil {
		t.Fatal(err)
	}
	b := &bench{Runtime: rt, t: t, logs: t.TempDir()}
	resp, err := rt.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "p", Uid: "u", Namespace: "n"}, Hostname: "p", LogDirectory: b.logs,
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.sandbox = resp.GetPodSandboxId()
	st, err := rt.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: b.sandbox})
	if err != nil {
		t.Fatal(err)
	}
	b.ip = st.GetStatus().GetNetwork().GetIp()
	return b
}

// start pulls, creates and starts; it returns the id and the start's error.
func (b *bench) start(image string, change func(*runtimeapi.ContainerConfig)) (string, error) {
	b.t.Helper()
	if _, err := pull(b.t, b.images, image, nil); err != nil {
		b.t.Fatal(err)
	}
	cfg := &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "c"}, Image: &runtimeapi.ImageSpec{Image: image}, LogPath: "c.log",
	}
	if change != nil {
		change(cfg)
	}
	created, err := b.CreateContainer(b.t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: b.sandbox, Config: cfg})
	if err != nil {
		b.t.Fatal(err)
	}
	_, err = b.StartContainer(b.t.Context(), &runtimeapi.StartContainerRequest{ContainerId: created.GetContainerId()})
	return created.GetContainerId(), err
}

func command(argv ...string) func(*runtimeapi.ContainerConfig) {
	return func(c *runtimeapi.ContainerConfig) { c.Command = argv }
}

// end waits for the container's end and returns its status and its log's lines.
func (b *bench) end(id string) (*runtimeapi.ContainerStatus, []string) {
	b.t.Helper()
	c, err := b.container(id)
	if err != nil {
		b.t.Fatal(err)
	}
	select {
	case <-c.done:
	case <-time.After(20 * time.Second):
		b.t.Fatal("the container does not end")
	}
	st, err := b.ContainerStatus(b.t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		b.t.Fatal(err)
	}
	data, _ := os.ReadFile(filepath.Join(b.logs, "c.log"))
	var lines []string
	for line := range strings.Lines(string(data)) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return st.GetStatus(), lines
}

func TestServe(t *testing.T) {
	b := newBench(t)
	id, err := b.start("registry.lab.test/lab/stubborn:1", func(c *runtimeapi.ContainerConfig) { c.Command = nil })
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 5 * time.Second}
	deadline := time.Now().Add(10 * time.Second)
	for {
		resp, err := client.Get("http://" + b.ip + ":80/")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("answers %s", resp.Status)
			}
			break
		}
		if strings.Contains(err.Error(), "permission denied") || time.Now().After(deadline) {
			t.Skipf("port 80 cannot be used here: %v", err)
		}
	}
	// It ignores the stop signal, so the grace period passes and it is killed.
	started := time.Now()
	if _, err := b.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 1}); err != nil {
		t.Fatal(err)
	}
	st, _ := b.end(id)
	if st.ExitCode != 137 || time.Since(started) < time.Second {
		t.Errorf("exit code %d after %s", st.ExitCode, time.Since(started))
	}
}

func TestShellCommand(t *testing.T) {
	b := newBench(t)
	id, err := b.start("busybox:1.37", command("sh", "-c", "echo no config; echo bad >&2; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	st, lines := b.end(id)
	if st.ExitCode != 3 || st.Reason != "Error" || len(lines) != 2 {
		t.Fatalf("exit %d %s, log %q", st.ExitCode, st.Reason, lines)
	}
	for i, want := range []string{`^\d{4}-\d\d-\d\dT[0-9:.]+Z stdout F no config$`, `^\S+ stderr F bad$`} {
		if !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("log line %q does not match %s", lines[i], want)
		}
	}
}

func TestShellSeesOnlyTheContainer(t *testing.T) {
	b := newBench(t)
	host := filepath.Join(t.TempDir(), "config")
	if err := os.MkdirAll(host, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(host, "key"), []byte("value\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	id, err := b.start("busybox:1.37", func(c *runtimeapi.ContainerConfig) {
		c.Command = []string{"sh", "-c", `cat /etc/app/key; echo "$GREETING" > /tmp/x && cat < /tmp/x; cat /etc/passwd; ls /etc; echo no > /etc/app/key; for i in 1 2; do echo $i; done | wc -l; test -d /etc/app && cd /etc/app && cat key`}
		c.Envs = []*runtimeapi.KeyValue{{Key: "GREETING", Value: []byte("hello")}}
		c.Mounts = []*runtimeapi.Mount{{ContainerPath: "/etc/app", HostPath: host, Readonly: true}}
	})
	if err != nil {
		t.Fatal(err)
	}
	st, lines := b.end(id)
	var text []string
	for _, l := range lines {
		text = append(text, strings.SplitN(l, " ", 4)[3])
	}
	got := strings.Join(text, "\n")
	for _, want := range []string{"value", "hello", "can't open '/etc/passwd'", "\napp\n", "read-only file system", "\n2\n"} {
		if !strings.Contains("\n"+got+"\n", want) {
			t.Errorf("the output has no %q:\n%s", want, got)
		}
	}
	if st.ExitCode != 0 || !strings.HasSuffix(got, "value") {
		t.Errorf("exit code %d, output\n%s", st.ExitCode, got)
	}
}

func TestOutOfMemory(t *testing.T) {
	b := newBench(t)
	id, err := b.start("registry.lab.test/lab/eater:1", func(c *runtimeapi.ContainerConfig) {
		c.Linux = &runtimeapi.LinuxContainerConfig{Resources: &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 10 << 20}}
	})
	if err != nil {
		t.Fatal(err)
	}
	st, _ := b.end(id)
	if st.ExitCode != 137 || st.Reason != "OOMKilled" {
		t.Errorf("exit %d %s", st.ExitCode, st.Reason)
	}
}

func TestStartErrors(t *testing.T) {
	b := newBench(t)
	id, err := b.start("nginx:1.29-alpine", command("/bin/nope"))
	const want = `exec: "/bin/nope": stat /bin/nope: no such file or directory`
	if status.Code(err) != codes.Unknown || !strings.Contains(err.Error(), want) {
		t.Errorf("start error %v, want %s", err, want)
	}
	if st, _ := b.end(id); st.ExitCode != 128 || st.Reason != "StartError" || !strings.Contains(st.Message, want) {
		t.Errorf("status %+v", st)
	}
	if _, err = b.start("nginx:1.29-alpine", command("nope")); err == nil || !strings.Contains(err.Error(), `exec: "nope": executable file not found in $PATH`) {
		t.Errorf("start error %v", err)
	}
}

func TestForeignArchitectureRunsIntoExecFormatError(t *testing.T) {
	b := newBench(t)
	id, err := b.start("registry.lab.test/lab/other-arch-single:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if st, lines := b.end(id); st.ExitCode != 255 || !strings.Contains(strings.Join(lines, ""), "exec /web: exec format error") {
		t.Errorf("exit %d, log %q", st.ExitCode, lines)
	}
}

func TestExecSync(t *testing.T) {
	b := newBench(t)
	id, err := b.start("busybox:1.37", command("sleep", "60"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := b.Runtime.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"sh", "-c", "hostname; exit 4"}})
	if err != nil || resp.GetExitCode() != 4 || string(resp.GetStdout()) != "p\n" {
		t.Errorf("exec gives %v, %v", resp, err)
	}
	_, err = b.Runtime.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"sleep", "5"}, Timeout: 1})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a slow probe gives %v", err)
	}
}

func TestRequiredFileAndRootOnly(t *testing.T) {
	b := newBench(t)
	id, err := b.start("registry.lab.test/lab/needs-config:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if st, lines := b.end(id); st.ExitCode != 1 || !strings.Contains(strings.Join(lines, ""), "/etc/app/config.yaml: no such file") {
		t.Errorf("exit %d, log %q", st.ExitCode, lines)
	}
	id, err = b.start("nginx:1.29-alpine", func(c *runtimeapi.ContainerConfig) {
		c.Linux = &runtimeapi.LinuxContainerConfig{SecurityContext: &runtimeapi.LinuxContainerSecurityContext{RunAsUser: &runtimeapi.Int64Value{Value: 101}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if st, lines := b.end(id); st.ExitCode != 1 || !strings.Contains(strings.Join(lines, ""), "Permission denied") {
		t.Errorf("exit %d, log %q", st.ExitCode, lines)
	}
}

func TestNetworkWaitsForThePodCIDR(t *testing.T) {
	rt, err := NewRuntime(Options{Images: newImages(t, t.TempDir()), Dir: filepath.Join(t.TempDir(), "c"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ready := func() bool {
		st, err := rt.Status(t.Context(), &runtimeapi.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return st.GetStatus().GetConditions()[1].GetStatus()
	}
	if ready() {
		t.Error("the network is ready without a Pod CIDR")
	}
	_, err = rt.UpdateRuntimeConfig(t.Context(), &runtimeapi.UpdateRuntimeConfigRequest{RuntimeConfig: &runtimeapi.RuntimeConfig{
		NetworkConfig: &runtimeapi.NetworkConfig{PodCidr: "127.0.78.0/24"},
	}})
	if err != nil || !ready() {
		t.Errorf("the network is not ready with a Pod CIDR: %v", err)
	}
}
