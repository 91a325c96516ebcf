package engine_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"labbot/scenarios/engine"
)

const manyActions = `
apiVersion: labbot/v1
kind: Scenario
metadata: {name: many, module: m, version: 1, difficulty: 1, minutes: 1}
spec:
  title: {ru: т, en: t}
  requires: {node: api}
  parameters: {n: {type: int, default: 3, min: 1, max: 5}}
  images: {web: "nginx:1"}
  namespace: {name: lab-many, mode: suffix}
  clusterScope: true
  watch:
    d: {kind: Deployment, apiVersion: apps/v1, name: web}
    node: {kind: Node, apiVersion: v1, name: n1}
    pods: {kind: Pod, apiVersion: v1, selector: app=web, list: true}
  phases:
    prepare:
      - {id: ns, createNamespace: {}}
      - id: make
        apply:
          object:
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web, labels: {of: $run.id}}
            spec: {replicas: $params.n, template: {spec: {containers: [{name: c, image: $images.web, command: [sh, -c, "echo $HOME"]}]}}}
      - {id: victim, choose: {from: pods, as: old}}
    inject:
      - {id: patch, patch: {of: d, strategic: {spec: {paused: true, replicas: $params.n}}}}
      - {id: merge, patch: {of: d, merge: {metadata: {annotations: {a: null}}}}}
      - {id: scale, scale: {of: d, replicas: 5}}
      - {id: cordon, cordon: {of: node}}
      - {id: evict, evict: {pod: old, dryRun: true}, expect: {error: TooManyRequests}}
      - {id: wait, wait: {for: 10s}}
      - {id: logs, logs: {of: pods, where: "it.metadata.name == 'b'", previous: true}, assert: [{name: there, mode: now, expr: "d != null"}]}
    verify: {oracle: [{name: o, expr: "d != null"}]}
    cleanup:
      - {id: uncordon, uncordon: {of: node}, assert: [{name: free, mode: eventually, within: 10s, expr: "!node.?spec.?unschedulable.orValue(false)"}]}
      - {id: wipe, deleteNamespace: {}}
      - {id: proof, get: {kind: Namespace, name: $run.namespace}, expect: {error: NotFound}}
`

func TestEveryOtherAction(t *testing.T) {
	p, err := engine.Load("many.yaml", []byte(manyActions))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	s, err := p.Start(engine.StartArgs{Run: "r-1", At: now})
	if err != nil {
		t.Fatal(err)
	}
	pod := func(name string) map[string]any {
		return map[string]any{"kind": "Pod", "metadata": map[string]any{"name": name, "uid": "u-" + name}}
	}
	ev := engine.Evidence{Objects: map[string]engine.Reading{
		"d":    {Known: true, Object: map[string]any{"metadata": map[string]any{"name": "web", "uid": "u-d"}, "spec": map[string]any{"replicas": int64(5)}}},
		"node": {Known: true, Object: map[string]any{"metadata": map[string]any{"name": "n1", "uid": "u-n"}}},
		"pods": {Known: true, List: true, Items: []map[string]any{pod("b"), pod("a")}},
	}}
	got := map[string]engine.Intent{}
	for range 120 {
		var facts []engine.Fact
		s, facts = p.Step(s, ev, now)
		_ = facts
		var back engine.State
		raw, _ := json.Marshal(s)
		if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(s, back) {
			t.Fatalf("State is not the same after JSON: %v\n%s", err, cmp.Diff(s, back))
		}
		ev.Results = nil
		for _, in := range s.Intents {
			got[in.Step] = in
			r := engine.Result{Intent: in.ID, Status: engine.ResultDone, UID: "u", At: now}
			switch in.Step {
			case "evict":
				r.Status, r.Reason = engine.ResultFailed, "TooManyRequests"
			case "proof":
				r.Status, r.Reason = engine.ResultFailed, "NotFound"
			}
			ev.Results = append(ev.Results, r)
		}
		now = now.Add(time.Second)
	}
	if s.Outcome != engine.Passed || s.Cleaned != engine.Clean {
		t.Fatalf("outcome %s (%s), cleaned %s (%s)", s.Outcome, s.Why.EN, s.Cleaned, s.Remains)
	}
	ns := "lab-many-r-1"
	want := map[string]any{
		"make": engine.Apply{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": "web", "namespace": ns, "labels": map[string]any{"of": "r-1"}},
			"spec": map[string]any{"replicas": int64(3), "template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{"name": "c", "image": "nginx:1", "command": []any{"sh", "-c", "echo $HOME"}}}}}},
		}},
		"patch": engine.Patch{Target: engine.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: ns, Name: "web", UID: "u-d"}, Type: "strategic",
			Patch: map[string]any{"spec": map[string]any{"paused": true, "replicas": int64(3)}}},
		"merge": engine.Patch{Target: engine.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: ns, Name: "web", UID: "u-d"}, Type: "merge",
			Patch: map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a": nil}}}},
		"scale":    engine.Scale{Target: engine.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: ns, Name: "web", UID: "u-d"}, Replicas: 5},
		"cordon":   engine.Cordon{Target: engine.Ref{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "u-n"}, Unschedulable: true},
		"uncordon": engine.Cordon{Target: engine.Ref{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "u-n"}},
		"evict":    engine.Evict{Target: engine.Ref{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: "a", UID: "u-a"}, DryRun: true},
		"logs":     engine.Report{Of: []string{"pods"}, Full: []string{"u-b"}, Lines: 20, Previous: true},
	}
	for step, w := range want {
		v := reflect.ValueOf(got[step])
		found := false
		for i := range v.NumField() {
			f := v.Field(i)
			if f.Kind() == reflect.Pointer && !f.IsNil() {
				found = true
				if diff := cmp.Diff(w, f.Elem().Interface()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", step, diff)
				}
			}
		}
		if !found {
			t.Errorf("no intent for %s", step)
		}
	}
	if took := got["logs"].IssuedAt.Sub(got["evict"].IssuedAt); took < 10*time.Second || took > 13*time.Second {
		t.Errorf("wait took %s", took)
	}
}

func TestOtherActionsRefused(t *testing.T) {
	for name, c := range map[string]struct{ old, new, message string }{
		"cluster object":        {"kind: Deployment\n            metadata", "kind: Node\n            metadata", "not known here"},
		"unknown kind":          {"kind: Deployment\n            metadata", "kind: Deploymnet\n            metadata", "“Deployment”"},
		"old version":           {"apiVersion: apps/v1\n            kind", "apiVersion: apps/v1beta1\n            kind", "“apps/v1”"},
		"other namespace":       {"{name: web, labels", "{name: web, namespace: kube-system, labels", "run's namespace"},
		"unknown reference":     {"replicas: $params.n, template", "replicas: $params.m, template", "Possible: n."},
		"no patch":              {"strategic: {spec: {paused: true, replicas: $params.n}}", "", "strategic and merge"},
		"cordon unannounced":    {"  clusterScope: true\n", "", "clusterScope"},
		"cordon not taken back": {"- {id: uncordon, uncordon: {of: node}, assert: [{name: free, mode: eventually, within: 10s, expr: \"!node.?spec.?unschedulable.orValue(false)\"}]}", "", "taken back"},
		"cordon of no Node":     {"{id: cordon, cordon: {of: node}}", "{id: cordon, cordon: {of: d}}", "“d” is not known"},
		"long wait":             {"for: 10s", "for: 10m", "longer than 5m"},
		"logs of no Pods":       {"logs: {of: pods", "logs: {of: d", "“d” is not known"},
		"many lines":            {"previous: true}", "previous: true, lines: 500}", "from 1 to 200"},
		"evict of nobody":       {"evict: {pod: old", "evict: {pod: odl", "“old”"},
		"scale of a word":       {"replicas: 5}", "replicas: five}", "type int"},
		"chosen too late":       {"      - {id: victim, choose: {from: pods, as: old}}\n", "", "“old” is not known: there is no such"},
	} {
		t.Run(name, func(t *testing.T) {
			file := strings.Replace(manyActions, c.old, c.new, 1)
			if file == manyActions {
				t.Fatalf("%q is not there", c.old)
			}
			_, err := engine.Load("many.yaml", []byte(file))
			if err == nil || !strings.Contains(err.Error(), c.message) {
				t.Errorf("want %q, got:\n%v", c.message, err)
			}
		})
	}
}
