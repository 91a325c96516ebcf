// Package fault carries out a scenario's actions on the lab cluster: the faults
// put in, the repair that a button asks for, and the namespace from open to
// close.
//
// Every attempt is idempotent: it looks before it acts, so the same intent given
// twice has one effect. No write leaves the namespace of its run: a guard reads
// the namespace and its labels before each one, whatever the intent says.
package fault

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"labbot/bot/lab"
	"labbot/scenarios/engine"
)

// FieldManager is the name under which every write of labbot appears in
// managedFields. It is how a thread tells the bot's own change from a learner's.
const FieldManager = "labbot"

// Labels and the annotation that every namespace of labbot carries. They are
// set at creation and never changed by the bot.
const (
	LabelOwned    = "labbot.dev/owned" // always "true"
	LabelRun      = "labbot.dev/run"
	LabelCohort   = "labbot.dev/cohort"
	LabelScenario = "labbot.dev/scenario"
	// AnnotationExpires is the instant, in RFC 3339, after which the namespace
	// may be removed by anyone of labbot.
	AnnotationExpires = "labbot.dev/expires"
)

// attempt bounds one attempt; the run's delivery counts on an answer in 15 s.
const attempt = 14 * time.Second

// Owner is the run that an action works for. Only its Namespace is written to.
type Owner struct {
	Run       lab.RunID
	Cohort    lab.CohortID
	Scenario  string
	Namespace string
	Expires   time.Time
}

// Resolver tells the resource of a kind and whether its objects live in namespaces.
type Resolver func(ctx context.Context, apiVersion, kind string) (gvr schema.GroupVersionResource, namespaced bool, err error)

// Bound is a client for code that takes no context, such as kubectl's own.
type Bound struct {
	kubernetes.Interface
	// Trouble gives the last error of the connection, or nil. Code that takes
	// no context tends to flatten errors into text.
	Trouble func() error
}

// Executor makes attempts at intents.
type Executor struct {
	Typed   kubernetes.Interface
	Dynamic dynamic.Interface
	Resolve Resolver
	// Bind returns a client whose requests end with ctx.
	Bind func(ctx context.Context) (Bound, error)
}

// Do makes one attempt at an intent, within 15 s, and says what came of it.
func (e *Executor) Do(ctx context.Context, o Owner, in engine.Intent) engine.Result {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	r := e.act(ctx, o, in)
	r.Intent, r.At = in.ID, time.Now()
	return r
}

func (e *Executor) act(ctx context.Context, o Owner, in engine.Intent) engine.Result {
	switch {
	case in.Kind == engine.ActCreateNamespace && in.CreateNamespace != nil:
		return e.createNamespace(ctx, o, *in.CreateNamespace)
	case in.Kind == engine.ActCreateDeployment && in.CreateDeployment != nil:
		return e.createDeployment(ctx, o, *in.CreateDeployment)
	case in.Kind == engine.ActSetImage && in.SetImage != nil:
		return e.setImage(ctx, o, *in.SetImage)
	case in.Kind == engine.ActDeletePod && in.DeletePod != nil:
		return e.deletePod(ctx, o, *in.DeletePod)
	case in.Kind == engine.ActUndo && in.Undo != nil:
		return e.undo(ctx, o, *in.Undo)
	case in.Kind == engine.ActDeleteNamespace && in.DeleteNamespace != nil:
		return e.deleteNamespace(ctx, o, *in.DeleteNamespace)
	case in.Kind == engine.ActGet && in.Get != nil:
		return e.get(ctx, o, *in.Get)
	}
	return failed("", fmt.Sprintf("intent %s of kind %q is not an action on the cluster, or lacks its body", in.ID, in.Kind))
}
