// Package e2e tells whole stories: the shipped binary between a Slack-compatible
// workspace, Redis and a real Kubernetes API.
//
// A story is a script in testdata/script. Its people act through the workspace's
// control API and through kubectl, never through the bot's own code.
package e2e

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/kubectl/pkg/cmd"

	"labbot/k8s/clustertest"
)

// tests stops the lab cluster when all stories are told.
type tests struct{ m *testing.M }

func (t tests) Run() int { return clustertest.Main(t.m) }

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		// kubectl is the real one, from its own packages.
		"kubectl": func() {
			if err := cmd.NewDefaultKubectlCommand().Execute(); err != nil {
				os.Exit(1)
			}
		},
	})
}

// turn makes the stories take turns: the module's namespace has one name, so a
// cluster can tell one story at a time.
var turn sync.Mutex

func TestStories(t *testing.T) {
	bot := binary(t)
	kubeconfig := clustertest.Kubeconfig(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			turn.Lock()
			env.Defer(turn.Unlock)
			s := &story{bot: bot, kubeconfig: kubeconfig, dir: env.WorkDir, vars: env}
			env.Values[storyKey{}] = s
			env.Defer(s.end)
			env.Setenv("KUBECONFIG", kubeconfig)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("LABBOT_BIN", bot)
			return nil
		},
		Cmds: commands,
	})
}

// binary is the shipped program. The stories are about it and not about a build
// of their own, so it must be named.
func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("LABBOT_BIN")
	if path == "" {
		t.Skip("LABBOT_BIN is not set: run the stories with make test-e2e")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("LABBOT_BIN: %v", err)
	}
	return path
}
