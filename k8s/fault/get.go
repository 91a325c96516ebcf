package fault

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"labbot/scenarios/engine"
)

// readable are the cluster-scoped kinds that a scenario may read. Namespace is
// confined to the run's own.
var readable = map[string]bool{"Namespace": true, "Node": true}

func (e *Executor) get(ctx context.Context, o Owner, in engine.Get) engine.Result {
	ref := in.Target
	if ref.Kind == "Secret" {
		return failed("", "labbot does not read Secrets")
	}
	gvr, namespaced, err := e.Resolve(ctx, ref.APIVersion, ref.Kind)
	if err != nil {
		return outcome(err)
	}
	var objects dynamic.ResourceInterface = e.Dynamic.Resource(gvr)
	switch {
	case namespaced && ref.Namespace != o.Namespace, ref.Kind == "Namespace" && ref.Name != o.Namespace:
		return outcome(&refusal{fmt.Sprintf("refused: %s %q lies outside namespace %q of run %s", ref.Kind, ref.Name, o.Namespace, o.Run)})
	case namespaced:
		objects = e.Dynamic.Resource(gvr).Namespace(ref.Namespace)
	case !readable[ref.Kind]:
		return outcome(&refusal{fmt.Sprintf("refused: a scenario reads no cluster-wide %s", ref.Kind)})
	}
	obj, err := objects.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return outcome(err)
	}
	return done(fmt.Sprintf("%s %q found", ref.Kind, ref.Name), obj.GetUID())
}
