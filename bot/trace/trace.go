// Package trace tells, from evidence alone, which component did what and when:
// the path from the API server through the controllers and the scheduler to the
// kubelet.
//
// It is pure. Every hop names the field that it was read from, so that a learner
// can check it with kubectl.
package trace

import "time"

// Component is one part of Kubernetes that leaves traces.
type Component string

// The components, in the order of the path.
const (
	APIServer            Component = "kube-apiserver"
	DeploymentController Component = "deployment-controller"
	ReplicaSetController Component = "replicaset-controller"
	Scheduler            Component = "default-scheduler"
	Kubelet              Component = "kubelet"
)

// Hop is one act of one component. Its Key is stable over repeated readings.
type Hop struct {
	Key       string    `json:"key"`
	At        time.Time `json:"at"`
	Component Component `json:"component"`
	// What is the act, one of the constants below; the catalogue has a text
	// "trace.<what>" for each.
	What string `json:"what"`
	// Object is "Kind/name".
	Object string `json:"object"`
	// Detail is technical: an image, a node name, a message of the API.
	Detail string `json:"detail,omitempty"`
	// By is the field manager of the API request, for acts of clients.
	By string `json:"by,omitempty"`
	// Gen is the Deployment's generation when the hop was first read. It orders
	// what the API's whole seconds leave open.
	Gen int64 `json:"gen,omitempty"`
	// Source is where it was read: "event Pulling", "managedFields
	// kube-controller-manager", "condition PodScheduled".
	Source string `json:"source"`
	// Also holds the keys of other records of the same act, such as the Event
	// beside an ownerReference.
	Also []string `json:"also,omitempty"`
	// Count is how often it was repeated, 1 for once.
	Count int `json:"count,omitempty"`
	// Bad marks a failure.
	Bad bool `json:"bad,omitempty"`
}

// The acts, in the causal order of the path.
const (
	Accepted          = "accepted"
	Changed           = "changed"
	Restored          = "restored"
	DeletionAsked     = "deletion-asked"
	CreatedReplicaSet = "created-replicaset"
	ScaledReplicaSet  = "scaled-replicaset"
	DeletedPod        = "deleted-pod"
	Stopping          = "stopping"
	CreatedPod        = "created-pod"
	NotScheduled      = "not-scheduled"
	Scheduled         = "scheduled"
	Pulling           = "pulling"
	Pulled            = "pulled"
	PullFailed        = "pull-failed"
	BackOff           = "back-off"
	Started           = "started"
	Exited            = "exited"
	RestartBackOff    = "restart-back-off"
	Unhealthy         = "unhealthy"
	Ready             = "ready"
	Warned            = "warned"
	Complete          = "complete"
)

// Acts lists the acts in the causal order of the path.
var Acts = []string{
	Accepted, Changed, Restored, DeletionAsked, CreatedReplicaSet, ScaledReplicaSet,
	DeletedPod, Stopping, CreatedPod, NotScheduled, Scheduled, Pulling, Pulled,
	PullFailed, BackOff, Started, Exited, RestartBackOff, Unhealthy, Ready, Warned, Complete,
}
