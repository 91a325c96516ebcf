package engine

import (
	"time"

	"labbot/bot/lab"
)

// Ref names one object of the API. Namespace is empty for cluster-scoped ones.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
}

// Watch is one named view of the cluster that a scenario's expressions use.
// With List it is all objects that match Selector, else the one called Name.
type Watch struct {
	As         string
	APIVersion string
	Kind       string
	Name       string
	Selector   string
	List       bool
}

// Reading is what is known of one Watch. While Known is false nothing may be
// concluded, least of all that the object is absent.
type Reading struct {
	Known bool `json:"known"`
	// Object is the object in JSON form, nil when the API says NotFound.
	Object map[string]any `json:"object,omitempty"`
	// Items are the objects of a list, ordered by creation then name.
	Items []map[string]any `json:"items,omitempty"`
	List  bool             `json:"list,omitempty"`
	// Err says why Known is false.
	Err string `json:"err,omitempty"`
}

// Event is one Event object of the namespace, core/v1 or events.k8s.io alike.
type Event struct {
	UID       string    `json:"uid"`
	Regarding Ref       `json:"regarding"`
	Type      string    `json:"type"`
	Reason    string    `json:"reason"`
	Message   string    `json:"message"`
	Component string    `json:"component"`
	Count     int       `json:"count"`
	Created   time.Time `json:"created"` // metadata.creationTimestamp
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
}

// Evidence is one reading of the world for one run: the watched objects, the
// namespace's Events oldest first, and what came of the intents since the last
// step. Whoever calls Step owns the value; the engine only reads it.
//
// Objects carry metadata.managedFields with manager, operation, subresource and
// time, but without fieldsV1.
type Evidence struct {
	Objects map[string]Reading `json:"objects"`
	Events  []Event            `json:"events"`
	Results []Result           `json:"results,omitempty"`
	Inputs  []Input            `json:"inputs,omitempty"`
	// Stale is since when the watches have had no contact with the API server;
	// zero while they have.
	Stale time.Time `json:"stale,omitzero"`
}

// InputKind says what a person did.
type InputKind string

// The kinds of input.
const (
	InputButton InputKind = "button" // a button of the scenario: rollback …
	InputHint   InputKind = "hint"
	InputStop   InputKind = "stop" // stop and clean up
)

// Input is one act of a person. ID is unique per act, so that the same act
// delivered twice counts once.
type Input struct {
	ID     string     `json:"id"`
	Kind   InputKind  `json:"kind"`
	Button string     `json:"button,omitempty"`
	By     lab.UserID `json:"by,omitempty"`
	At     time.Time  `json:"at"`
}

// ResultStatus is what became of an intent.
type ResultStatus string

// The states of an intent after an attempt. Pending asks for the same intent
// again later; Unreachable says the API could not be asked at all.
const (
	ResultDone        ResultStatus = "done"
	ResultPending     ResultStatus = "pending"
	ResultFailed      ResultStatus = "failed"
	ResultUnreachable ResultStatus = "unreachable"
)

// ReasonNotOurs is the reason of a refusal to touch a namespace that this run
// did not make. Other reasons are the API's own (metav1.StatusReason).
const ReasonNotOurs = "NotOurs"

// ReasonNotSent is the reason of an unreachable attempt that is known to have
// had no effect: no connection was made.
const ReasonNotSent = "NotSent"

// Result is what one attempt at an intent gave. The executor is idempotent: it
// looks before it acts, and the same intent given twice has one effect.
type Result struct {
	Intent  string       `json:"intent"`
	Status  ResultStatus `json:"status"`
	Reason  string       `json:"reason,omitempty"`  // metav1.StatusReason or Reason… above
	Message string       `json:"message,omitempty"` // the API's own words
	// UID is the UID of the object made or touched. A pending createNamespace
	// carries one only when the namespace that is there is this run's own.
	UID string    `json:"uid,omitempty"`
	At  time.Time `json:"at"`
}

// ActionKind names an action of the scenario format.
type ActionKind string

// The actions that this engine knows. Those marked (pure) are decided by the
// engine from Evidence alone and never become an Intent.
const (
	ActCreateNamespace  ActionKind = "createNamespace"
	ActCreateDeployment ActionKind = "createDeployment"
	ActSetImage         ActionKind = "setImage"
	ActDeletePod        ActionKind = "deletePod"
	ActUndo             ActionKind = "undo"
	ActDeleteNamespace  ActionKind = "deleteNamespace"
	ActGet              ActionKind = "get"
	ActEvidence         ActionKind = "evidence"       // report
	ActDescribe         ActionKind = "describe"       // report
	ActEvents           ActionKind = "events"         // report
	ActRolloutHistory   ActionKind = "rolloutHistory" // report
	ActApply            ActionKind = "apply"
	ActPatch            ActionKind = "patch"
	ActScale            ActionKind = "scale"
	ActEvict            ActionKind = "evict"
	ActCordon           ActionKind = "cordon"
	ActUncordon         ActionKind = "uncordon"
	ActLogs             ActionKind = "logs"          // report
	ActWait             ActionKind = "wait"          // pure
	ActRolloutStatus    ActionKind = "rolloutStatus" // pure
	ActSnapshot         ActionKind = "snapshot"      // pure
	ActChoose           ActionKind = "choose"        // pure
	ActAssert           ActionKind = "assert"        // pure: a step that only asserts
)

// Intent is one effect that the engine wants. Exactly one of the pointers is
// set, the one that Kind names. All references in it are resolved.
type Intent struct {
	// ID is unique in the run: "<phase>/<step>", with "#n" for a repeated one.
	ID       string     `json:"id"`
	Kind     ActionKind `json:"kind"`
	Phase    Phase      `json:"phase"`
	Step     string     `json:"step"`
	By       lab.UserID `json:"by,omitempty"` // who pressed the button behind it
	IssuedAt time.Time  `json:"issuedAt"`
	Deadline time.Time  `json:"deadline"`
	// NotBefore is when the next attempt may be made.
	NotBefore time.Time `json:"notBefore,omitzero"`
	Attempts  int       `json:"attempts,omitempty"`
	// Unsure says that an attempt may have had its effect without an answer.
	Unsure bool `json:"unsure,omitempty"`

	CreateNamespace  *CreateNamespace  `json:"createNamespace,omitempty"`
	CreateDeployment *CreateDeployment `json:"createDeployment,omitempty"`
	SetImage         *SetImage         `json:"setImage,omitempty"`
	DeletePod        *DeletePod        `json:"deletePod,omitempty"`
	Undo             *Undo             `json:"undo,omitempty"`
	DeleteNamespace  *DeleteNamespace  `json:"deleteNamespace,omitempty"`
	Get              *Get              `json:"get,omitempty"`
	Apply            *Apply            `json:"apply,omitempty"`
	Patch            *Patch            `json:"patch,omitempty"`
	Scale            *Scale            `json:"scale,omitempty"`
	Evict            *Evict            `json:"evict,omitempty"`
	Cordon           *Cordon           `json:"cordon,omitempty"` // uncordon too
	Report           *Report           `json:"report,omitempty"`
}

// CreateNamespace makes the run's namespace with the run's labels, its expiry
// annotation and an enforced Pod Security level ("baseline"). It is done when
// the namespace is Active and holds the ServiceAccount "default". A namespace
// that is there and not this run's is refused with ReasonNotOurs; one that is
// Terminating is Pending.
type CreateNamespace struct {
	Name string `json:"name"`
	// Adopt "sameRunner" takes over a namespace whose labels name this run.
	Adopt string `json:"adopt,omitempty"`
}

// CreateDeployment makes what `kubectl create deployment` makes: label and
// selector app=NAME, one container named after the image's last path part.
type CreateDeployment struct {
	Name     string `json:"name"`
	Image    string `json:"image"`
	Replicas int    `json:"replicas"`
	// Adopt "sameSpec" accepts one that is there with the same image and replicas.
	Adopt string `json:"adopt,omitempty"`
}

// SetImage patches one container's image, as `kubectl set image` does.
type SetImage struct {
	Target    Ref    `json:"target"`
	Container int    `json:"container"` // index
	Image     string `json:"image"`
}

// DeletePod deletes one Pod by UID, without waiting.
type DeletePod struct {
	Target Ref `json:"target"`
}

// Undo writes the Pod template back, by kubectl's own rollback from the
// ReplicaSet that holds it. Already equal counts as done.
type Undo struct {
	Target Ref `json:"target"`
	// Template is spec.template to return to, without pod-template-hash.
	Template map[string]any `json:"template"`
}

// DeleteNamespace deletes the namespace by UID. It is done when a GET says
// NotFound or shows another UID, and Pending, with what remains, until then.
type DeleteNamespace struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Get reads one object. An absent one is ResultFailed with reason NotFound;
// it is the engine that knows whether this was expected.
type Get struct {
	Target Ref `json:"target"`
}

// Apply makes or changes one object of the run's namespace by server-side apply.
type Apply struct {
	Object map[string]any `json:"object"`
}

// Patch patches one object. Type is "strategic" or "merge".
type Patch struct {
	Target Ref            `json:"target"`
	Type   string         `json:"type"`
	Patch  map[string]any `json:"patch"`
}

// Scale writes the number of replicas through the scale subresource.
type Scale struct {
	Target   Ref `json:"target"`
	Replicas int `json:"replicas"`
}

// Evict asks the eviction API for one Pod, by UID. A refusal by a disruption
// budget is ResultFailed with reason TooManyRequests.
type Evict struct {
	Target Ref  `json:"target"`
	DryRun bool `json:"dryRun,omitempty"`
}

// Cordon writes spec.unschedulable of a Node.
type Cordon struct {
	Target        Ref  `json:"target"`
	Unschedulable bool `json:"unschedulable"`
}

// Report asks for evidence to be captured and posted into the thread. It is
// done when the message stands there.
type Report struct {
	// Of are watch names, in the scenario's order.
	Of []string `json:"of"`
	// Show selects among spec, status, conditions, ownerReferences, events,
	// logs; the order of posting is fixed whatever the order here.
	Show []string `json:"show,omitempty"`
	// Full holds, for describe of a list, the UIDs to describe in full; the
	// others get one line.
	Full []string `json:"full,omitempty"`
	// Lines and Previous select the log lines of the Pods in Full.
	Lines    int  `json:"lines,omitempty"`
	Previous bool `json:"previous,omitempty"`
	// Reasons selects Events, empty for all.
	Reasons []string `json:"reasons,omitempty"`
	// Compare is the snapshot (step id) to set side by side, if any.
	Compare string `json:"compare,omitempty"`
}
