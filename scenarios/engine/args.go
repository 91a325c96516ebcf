package engine

import "time"

// The arguments of the actions, as written in a scenario.

// CreateNamespaceArgs are the arguments of createNamespace.
type CreateNamespaceArgs struct {
	Adopt string `yaml:"adopt" enum:"sameRunner" doc:"sameRunner: take over a namespace of this run."`
}

// CreateDeploymentArgs are the arguments of createDeployment.
type CreateDeploymentArgs struct {
	Name     string `yaml:"name,required" doc:"Name of the Deployment."`
	Image    Value  `yaml:"image,required" doc:"Image, usually $images.NAME."`
	Replicas Value  `yaml:"replicas,required" doc:"Number of replicas."`
	Adopt    string `yaml:"adopt" enum:"sameSpec" doc:"sameSpec: accept one with the same image and replicas."`
}

// RolloutStatusArgs are the arguments of rolloutStatus.
type RolloutStatusArgs struct {
	Of      string        `yaml:"of,required" doc:"Watch of a Deployment."`
	Timeout time.Duration `yaml:"timeout" doc:"How long to wait."`
}

// SnapshotArgs are the arguments of snapshot.
type SnapshotArgs struct {
	Of []string `yaml:"of,required" doc:"Watches to keep under at.STEP."`
}

// SetImageArgs are the arguments of setImage.
type SetImageArgs struct {
	Of        string `yaml:"of,required" doc:"Watch of a Deployment."`
	Container int    `yaml:"container" doc:"Index of the container."`
	Image     Value  `yaml:"image,required" doc:"Image, usually $images.NAME."`
}

// ChooseArgs are the arguments of choose.
type ChooseArgs struct {
	From  string `yaml:"from,required" doc:"Watch of a list."`
	Where Expr   `yaml:"where" doc:"CEL over it, the candidate."`
	As    string `yaml:"as,required" doc:"Name for expressions and later steps."`
}

// DeletePodArgs are the arguments of deletePod.
type DeletePodArgs struct {
	Pod  string `yaml:"pod,required" doc:"Name given by choose."`
	Wait bool   `yaml:"wait" doc:"Only false: the run goes on at once."`
}

// EvidenceArgs are the arguments of evidence.
type EvidenceArgs struct {
	Of      []string `yaml:"of,required" doc:"Watches to show."`
	Show    []string `yaml:"show" enum:"spec,status,conditions,ownerReferences,events,logs" doc:"Parts to show; the order of posting is fixed."`
	Compare string   `yaml:"compare" doc:"Step whose snapshot stands beside it."`
	Reasons []string `yaml:"reasons" doc:"Reasons of Events to show; none for all."`
}

// DescribeArgs are the arguments of describe.
type DescribeArgs struct {
	Of   string `yaml:"of,required" doc:"Watch to describe."`
	Full Expr   `yaml:"full" doc:"CEL over it: which objects of a list are described in full."`
}

// EventsArgs are the arguments of events.
type EventsArgs struct {
	Order   string   `yaml:"order" enum:"creationTimestamp" doc:"Always creationTimestamp."`
	Reasons []string `yaml:"reasons" doc:"Reasons to show; none for all."`
}

// RolloutHistoryArgs are the arguments of rolloutHistory.
type RolloutHistoryArgs struct {
	Of string `yaml:"of,required" doc:"Watch of a Deployment."`
}

// UndoArgs are the arguments of undo.
type UndoArgs struct {
	Of string `yaml:"of,required" doc:"Watch of a Deployment."`
	To string `yaml:"to,required" doc:"Step whose snapshot holds the template."`
}

// DeleteNamespaceArgs are the arguments of deleteNamespace.
type DeleteNamespaceArgs struct {
	Timeout      time.Duration `yaml:"timeout" doc:"How long to wait until it is gone."`
	Precondition string        `yaml:"precondition" enum:"uid" doc:"Always uid."`
}

// GetArgs are the arguments of get.
type GetArgs struct {
	Kind       string `yaml:"kind,required" doc:"Kind of the object."`
	APIVersion string `yaml:"apiVersion" doc:"API group and version; known kinds need none."`
	Name       Value  `yaml:"name,required" doc:"Name of the object."`
}
