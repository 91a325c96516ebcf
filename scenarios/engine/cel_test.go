package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// tiny is the smallest scenario, with one expression in it.
const tiny = `
apiVersion: labbot/v1
kind: Scenario
metadata: {name: tiny, module: m, version: 1, difficulty: 1, minutes: 1}
spec:
  title: {ru: т, en: t}
  requires: {node: api}
  parameters: {n: {type: int, default: 2}}
  images: {web: "nginx:1"}
  namespace: {name: lab-t, mode: exact}
  watch:
    d: {kind: Deployment, apiVersion: apps/v1, name: web}
    none: {kind: Deployment, apiVersion: apps/v1, name: none}
    dark: {kind: Deployment, apiVersion: apps/v1, name: dark}
    node: {kind: Node, apiVersion: v1, name: n1}
    svc: {kind: Service, apiVersion: v1, name: web}
    pods: {kind: Pod, apiVersion: v1, list: true}
    rs: {kind: ReplicaSet, apiVersion: apps/v1, list: true}
    slices: {kind: EndpointSlice, apiVersion: discovery.k8s.io/v1, list: true}
  phases:
    prepare: [{id: ns, createNamespace: {}}]
    verify: {oracle: [{name: o, expr: "d != null"}]}
    cleanup: [{id: wipe, deleteNamespace: {}}, {id: proof, get: {kind: Namespace, name: $run.namespace}, expect: {error: NotFound}}]
  moves: {wrong: [{name: m, say: {ru: т, en: t}, expr: %q}]}
`

const objects = `{
 "d": {"known":true,"object":{"kind":"Deployment","metadata":{"name":"web","uid":"D","generation":2},
   "spec":{"replicas":2,"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"nginx","image":"nginx:1"}]}}},
   "status":{"observedGeneration":2,"replicas":2,"updatedReplicas":2,"availableReplicas":2,
     "conditions":[{"type":"Available","status":"True","reason":"MinimumReplicasAvailable","message":"m"},{"type":"Old","status":"True","observedGeneration":1}]}}},
 "none": {"known":true},
 "dark": {"known":false,"err":"no list yet"},
 "node": {"known":true,"object":{"kind":"Node","metadata":{"name":"n1","uid":"N"}}},
 "svc": {"known":true,"object":{"kind":"Service","metadata":{"name":"web","uid":"S"}}},
 "pods": {"known":true,"list":true,"items":[
   {"metadata":{"name":"p1","uid":"P1","ownerReferences":[{"uid":"X"},{"uid":"R1","controller":true}]},"spec":{"containers":[{"image":"nginx:1"},{"image":"docker.io/library/busybox@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}],"initContainers":[{"image":"i"}]},
     "status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"restartCount":2,"lastState":{"terminated":{"reason":"Error","exitCode":1}}}]}},
   {"metadata":{"name":"p2","uid":"P2","deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}},
   {"metadata":{"name":"p3","uid":"P3"},"status":{"phase":"Failed"}},
   {"metadata":{"name":"p4","uid":"P4"},"status":{"phase":"Pending","initContainerStatuses":[{"restartCount":1,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}],"containerStatuses":[{"state":{"waiting":{"reason":"PodInitializing"}}}]}}]},
 "rs": {"known":true,"list":true,"items":[
   {"metadata":{"uid":"R1","ownerReferences":[{"uid":"D","controller":true}],"annotations":{"deployment.kubernetes.io/revision":"3"}},
    "spec":{"template":{"metadata":{"labels":{"app":"web","pod-template-hash":"abc"}},"spec":{"containers":[{"name":"nginx","image":"nginx:1"}]}}}},
   {"metadata":{"uid":"R2","ownerReferences":[{"uid":"D","controller":true}],"annotations":{"deployment.kubernetes.io/revision":"1"}}},
   {"metadata":{"uid":"R3","ownerReferences":[{"uid":"other","controller":true}],"annotations":{"deployment.kubernetes.io/revision":"7"}}}]},
 "slices": {"known":true,"list":true,"items":[
   {"metadata":{"labels":{"kubernetes.io/service-name":"web"}},"endpoints":[{"addresses":["10.0.0.2"],"conditions":{"ready":true}},{"addresses":["10.0.0.3"],"conditions":{"ready":false}},{"addresses":["10.0.0.1"]}]},
   {"metadata":{"labels":{"kubernetes.io/service-name":"else"}},"endpoints":[{"addresses":["10.0.0.9"]}]}]}
}`

func TestExpressions(t *testing.T) {
	for expr, want := range map[string]Truth{
		"cond(d, 'Available') == {'status': 'True', 'reason': 'MinimumReplicasAvailable', 'message': 'm'}": True,
		"cond(d, 'Old').status == 'Unknown' && cond(d, 'Absent').reason == ''":                             True,
		"cond(none, 'Available').status == 'Unknown' && !rolledOut(none) && images(none).size() == 0":      True,
		"rolledOut(d)": True,
		"live(pods).map(p, p.metadata.name) == ['p1', 'p4']":                                             True,
		"pods.filter(p, ready(p)).map(p, p.metadata.name) == ['p1']":                                     True,
		"waits(pods[3]) == ['CrashLoopBackOff', 'PodInitializing']":                                      True,
		"exits(pods[0]).exists(e, e.reason == 'Error' && e.exitCode == 1)":                               True,
		"restarts(pods[0]) == 2 && restarts(pods[3]) == 1":                                               True,
		"owner(pods[0]) == 'R1' && owner(pods[1]) == ''":                                                 True,
		"owned(rs, d).size() == 2 && owned(pods, rs[0]).size() == 1 && owned(pods, none).size() == 0":    True,
		"images(d) == ['nginx:1'] && images(pods[0]).size() == 2":                                        True,
		"template(d) == template(rs[0]) && template(none) == null":                                       True,
		"repo(images(pods[0])[1]) == 'busybox' && repo('docker.io/library/nginx:2') == repo(images.web)": True,
		"repo('REG/Bad ref') == 'REG/Bad ref' && repo('lab.example:5000/library/nginx:9') == 'nginx'":    True,
		"revisions(d) == [1, 3]": True,
		"ev(d, 'ScalingReplicaSet').size() == 1 && ev(d, 'Other').size() == 0":    True,
		"ev(node, 'NodeNotReady').size() == 1 && ev(none, 'X').size() == 0":       True,
		"addresses(svc) == ['10.0.0.1', '10.0.0.2'] && addresses(none).size()==0": True,
		"d.?status.?nothing.orValue(5) == 5 && !has(d.spec.paused)":               True,
		"params.n == d.spec.replicas && params.n < 2.5":                           True,
		"run.namespace == 'lab-t'":                                                True,
		"none == null":                                                            True,
		// What is not known is neither true nor false, but may not matter.
		"dark == null":                          Unknown,
		"rolledOut(dark)":                       Unknown,
		"dark != null || d != null":             True,
		"dark != null && none != null":          False,
		"d.spec.nothing == 1":                   Unknown,
		"none.metadata.name == 'x'":             Unknown,
		"cond('word', 'X').status == 'Unknown'": True, // a word has no conditions
		"ready(1)":                              Unknown,
	} {
		if got, detail := evalTiny(t, expr, false); got != want {
			t.Errorf("%s: %s (%s), want %s", expr, got, detail, want)
		}
	}
}

func evalTiny(t testing.TB, expr string, cut bool) (Truth, string) {
	t.Helper()
	p, err := Load("tiny.yaml", fmt.Appendf(nil, tiny, expr))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	s, err := p.Start(StartArgs{Run: "r-x", Registries: map[string]string{"docker.io": "lab.example:5000"}})
	if err != nil {
		t.Fatal(err)
	}
	ev := Evidence{Events: []Event{
		{Reason: "ScalingReplicaSet", Regarding: Ref{Kind: "Deployment", UID: "D"}},
		{Reason: "ScalingReplicaSet", Regarding: Ref{Kind: "Deployment", UID: "older"}},
		{Reason: "NodeNotReady", Regarding: Ref{Kind: "Node", Name: "n1", UID: "n1"}},
	}}
	if err := json.Unmarshal([]byte(objects), &ev.Objects); err != nil {
		t.Fatal(err)
	}
	w := &world{p: p, s: &s, ev: &ev, cut: cut}
	return w.truth(p.moves[0].expr)
}

func TestNothingIsKnownOfAClusterOutOfReach(t *testing.T) {
	if got, _ := evalTiny(t, "d == null || d != null", true); got != Unknown {
		t.Errorf("got %s", got)
	}
}

// An expression that would take for ever ends at its cost limit, as unknown.
func TestCostLimit(t *testing.T) {
	big := "[" + strings.TrimSuffix(strings.Repeat("1,", 200), ",") + "]"
	began := time.Now()
	got, detail := evalTiny(t, big+".all(a, "+big+".all(b, "+big+".all(c, a + b + c > 0)))", false)
	if got != Unknown || !strings.Contains(detail, "cost") {
		t.Errorf("got %s (%s)", got, detail)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}

func BenchmarkOracle(b *testing.B) {
	p, err := Load("tiny.yaml", fmt.Appendf(nil, tiny, "live(pods).all(p, ready(p) || waits(p).size() > 0) && rs.all(r, !images(r).exists(i, i == 'x'))"))
	if err != nil {
		b.Fatal(err)
	}
	s, _ := p.Start(StartArgs{Run: "r-x"})
	var ev Evidence
	if err := json.Unmarshal([]byte(objects), &ev.Objects); err != nil {
		b.Fatal(err)
	}
	w := &world{p: p, s: &s, ev: &ev}
	for b.Loop() {
		w.truth(p.moves[0].expr)
	}
}
