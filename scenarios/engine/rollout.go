package engine

import "fmt"

// Rollout is what `kubectl rollout status` would say of a Deployment.
type Rollout struct {
	Done bool
	// Exceeded says that the progress deadline is over; kubectl gives up then.
	Exceeded bool
	// Message is kubectl's line.
	Message string
}

// RolloutOf decides as kubectl's own viewer of Deployments does
// (k8s.io/kubectl/pkg/polymorphichelpers, DeploymentStatusViewer); a test holds
// the two together. An absent Deployment is not done.
func RolloutOf(d map[string]any) Rollout {
	if d == nil {
		return Rollout{Message: "the Deployment is not there"}
	}
	name := nameOf(d)
	if intOr0(d, "metadata", "generation") > intOr0(d, "status", "observedGeneration") {
		return Rollout{Message: "Waiting for deployment spec update to be observed..."}
	}
	for _, c := range digList(d, "status", "conditions") {
		if digString(c, "type") != "Progressing" {
			continue
		}
		if digString(c, "reason") == "ProgressDeadlineExceeded" {
			return Rollout{Exceeded: true, Message: fmt.Sprintf("deployment %q exceeded its progress deadline", name)}
		}
		break
	}
	want, set := digInt(d, "spec", "replicas")
	updated, all := intOr0(d, "status", "updatedReplicas"), intOr0(d, "status", "replicas")
	available := intOr0(d, "status", "availableReplicas")
	switch {
	case set && updated < want:
		return Rollout{Message: fmt.Sprintf("Waiting for deployment %q rollout to finish: %d out of %d new replicas have been updated...", name, updated, want)}
	case all > updated:
		return Rollout{Message: fmt.Sprintf("Waiting for deployment %q rollout to finish: %d old replicas are pending termination...", name, all-updated)}
	case available < updated:
		return Rollout{Message: fmt.Sprintf("Waiting for deployment %q rollout to finish: %d of %d updated replicas are available...", name, available, updated)}
	}
	return Rollout{Done: true, Message: fmt.Sprintf("deployment %q successfully rolled out", name)}
}
