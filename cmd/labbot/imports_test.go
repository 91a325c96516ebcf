package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers is the direction of data as a table: which packages of the project, and
// which clients of the outside world, a package may import. "core" stands for
// the pure packages.
var layers = map[string]struct{ project, clients []string }{
	"bot/lab":          {},
	"bot/text":         {project: []string{"bot/lab"}},
	"bot/command":      {project: []string{"bot/lab", "bot/text"}},
	"scenarios/engine": {project: []string{"bot/lab", "bot/text"}},
	"scenarios":        {project: []string{"bot/lab", "bot/text", "scenarios/engine"}},
	"bot/trace":        {project: []string{"bot/lab", "bot/text", "scenarios/engine"}},
	"bot/exhibit":      {project: []string{"bot/lab", "bot/text", "bot/trace", "scenarios/engine"}},
	"bot/board":        {project: []string{"core"}, clients: []string{slackGo}},
	"bot/run":          {project: []string{"core"}},
	"bot/thread":       {project: []string{"core", "bot/run"}},
	"bot":              {project: []string{"core", "bot/run"}, clients: []string{slackGo}},
	"bot/slackapi":     {project: []string{"core", "bot"}, clients: []string{slackGo}},
	"bot/store":        {project: []string{"core", "bot/run"}, clients: []string{redis, asynq}},
	"bot/workspace":    {},
	"k8s":              {project: []string{"core", "bot/run", "k8s/fault", "k8s/evidence"}, clients: []string{clientGo, kubectl}},
	"k8s/fault":        {project: []string{"core", "bot/run"}, clients: []string{clientGo, kubectl}},
	"k8s/evidence":     {project: []string{"core", "bot/run"}, clients: []string{clientGo}},
}

const (
	slackGo  = "github.com/slack-go/slack"
	redis    = "github.com/redis/go-redis/v9"
	asynq    = "github.com/hibiken/asynq"
	clientGo = "k8s.io/client-go"
	kubectl  = "k8s.io/kubectl"
)

var (
	outside = []string{slackGo, redis, asynq, clientGo, kubectl}
	core    = []string{"bot/lab", "bot/text", "bot/command", "bot/trace", "bot/exhibit", "bot/board", "scenarios", "scenarios/engine"}
	// pure packages do no I/O of their own; embedding files is not I/O.
	pure   = []string{"bot/lab", "bot/text", "bot/command", "bot/trace", "bot/exhibit", "bot/board", "scenarios", "scenarios/engine"}
	forbid = []string{"net", "net/http", "os", "os/exec"}
	// tests and their tools are free, and so is the wiring.
	free = []string{"cmd/labbot", "e2e", "bot/run/runtest", "scenarios/engine/enginetest", "internal/golden", "k8s/clustertest", "bot/workspace/pagetest"}
)

func TestImportsFollowTheDirectionOfData(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "labbot/...").Output()
	if err != nil {
		var e *exec.ExitError
		if errors.As(err, &e) {
			t.Fatalf("go list: %v\n%s", err, e.Stderr)
		}
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		check(t, strings.TrimPrefix(p.ImportPath, "labbot/"), p.Imports)
	}
}

func check(t *testing.T, name string, imports []string) {
	if slices.Contains(free, name) || name == "labbot" || strings.HasPrefix(name, "k8s/labcluster") {
		return
	}
	layer, known := layers[name]
	if !known {
		t.Errorf("%s has no row in the table of layers: say what it may import", name)
		return
	}
	allowed := slices.Clone(layer.project)
	if slices.Contains(allowed, "core") {
		allowed = append(allowed, core...)
	}
	for _, imp := range imports {
		if own, ok := strings.CutPrefix(imp, "labbot/"); ok && !slices.Contains(allowed, own) {
			t.Errorf("%s imports %s, which points against the direction of data", name, own)
		}
		for _, client := range outside {
			if within(imp, client) && !slices.Contains(layer.clients, client) {
				t.Errorf("%s imports %s, which is for adapters", name, imp)
			}
		}
		if slices.Contains(pure, name) && slices.Contains(forbid, imp) {
			t.Errorf("%s is pure and imports %s", name, imp)
		}
	}
}

func within(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }
