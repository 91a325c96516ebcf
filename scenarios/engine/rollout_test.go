package engine

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubectl/pkg/polymorphichelpers"
)

var digits = regexp.MustCompile(`\d+`)

// RolloutOf must decide and speak as kubectl itself does, on any Deployment.
func TestRolloutAsKubectl(t *testing.T) {
	viewer, err := polymorphichelpers.StatusViewerFor(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for range 5000 {
		d := someDeployment(rng)
		line, done, err := viewer.Status(&unstructured.Unstructured{Object: d}, 0)
		if err != nil {
			line = err.Error()
		}
		line = strings.TrimSuffix(line, "\n")
		got := RolloutOf(d)
		if got.Done != done || got.Message != line || got.Exceeded != (err != nil) {
			t.Fatalf("got %+v, kubectl says %q, %t, %v\n%v", got, line, done, err, d)
		}
		seen[digits.ReplaceAllString(line, "N")]++
	}
	if len(seen) < 6 {
		t.Errorf("the objects tried only %d of 6 answers: %v", len(seen), seen)
	}
}

func someDeployment(rng *rand.Rand) map[string]any {
	n := func() int64 { return rng.Int64N(4) }
	spec := map[string]any{}
	if rng.IntN(5) > 0 {
		spec["replicas"] = n()
	}
	status := map[string]any{}
	for _, f := range []string{"observedGeneration", "replicas", "updatedReplicas", "availableReplicas"} {
		if rng.IntN(4) > 0 {
			status[f] = n()
		}
	}
	if rng.IntN(2) > 0 {
		reason := []string{"ReplicaSetUpdated", "ProgressDeadlineExceeded", "NewReplicaSetAvailable"}[rng.IntN(3)]
		status["conditions"] = []any{
			map[string]any{"type": "Available", "status": "True", "reason": "ProgressDeadlineExceeded"},
			map[string]any{"type": "Progressing", "status": "False", "reason": reason},
		}
	}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "generation": 1 + rng.Int64N(2)},
		"spec":     spec, "status": status,
	}
}
