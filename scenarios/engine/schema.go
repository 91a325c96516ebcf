package engine

import (
	"time"

	"labbot/bot/lab"
)

// APIVersion is the version of the scenario format that this engine reads.
const APIVersion = "labbot/v1"

// Pos is a place in a scenario file, counted from 1.
type Pos struct{ Line, Column int }

// Expr is a CEL expression with its place in the file.
type Expr struct {
	Source string
	Pos    Pos
}

// IsZero tells whether no expression was given.
func (e Expr) IsZero() bool { return e.Source == "" }

// Value is a scalar that may be a reference to a parameter, an image or the
// run: "$params.replicas", "$images.web", "$run.namespace".
type Value struct {
	V   any // string, int64, bool or nil
	Pos Pos
}

// Scenario is a scenario file as it was written, checked for form only.
type Scenario struct {
	APIVersion string   `yaml:"apiVersion,required" doc:"Version of the format: labbot/v1."`
	Kind       string   `yaml:"kind,required" doc:"Always Scenario."`
	Metadata   Metadata `yaml:"metadata,required" doc:"Name, module, version and effort."`
	Spec       Spec     `yaml:"spec,required" doc:"The scenario itself."`

	file string
	pos  map[string]Pos
}

// Metadata names a scenario and tells its effort.
type Metadata struct {
	Name       string `yaml:"name,required" doc:"The word after /lab: a small letter, then 1 to 30 small letters, digits or hyphens."`
	Module     string `yaml:"module,required" doc:"The course module it belongs to."`
	Version    int    `yaml:"version,required" doc:"Raised with every change; a run ends on the version it began with."`
	Difficulty int    `yaml:"difficulty,required" doc:"1 (first lab) to 5."`
	Minutes    int    `yaml:"minutes,required" doc:"How long a learner needs."`
}

// Spec is the body of a scenario.
type Spec struct {
	Title        lab.Text             `yaml:"title,required" doc:"One line, shown in lists and on the board."`
	Summary      lab.Text             `yaml:"summary" doc:"What the learner will see and do."`
	Requires     Requires             `yaml:"requires,required" doc:"What the cluster must be able to do."`
	Parameters   map[string]Parameter `yaml:"parameters" doc:"Values that the command may set."`
	Images       map[string]Value     `yaml:"images" doc:"Logical image names and their references as in the course."`
	ImageRules   map[string]ImageRule `yaml:"imageRules" doc:"Rules for images, by logical name."`
	ClusterScope bool                 `yaml:"clusterScope" doc:"The scenario changes objects outside of its namespace, such as a Node; the operator must allow it."`
	Namespace    Namespace            `yaml:"namespace,required" doc:"The only namespace that the run may touch."`
	Watch        map[string]WatchSpec `yaml:"watch,required" doc:"Names for live objects, for use in expressions."`
	Phases       Phases               `yaml:"phases,required" doc:"What happens, in order."`
	Hints        []Hint               `yaml:"hints" doc:"Graduated hints."`
	Moves        Moves                `yaml:"moves" doc:"Typical wrong moves."`
	Questions    []Question           `yaml:"questions" doc:"Quiz questions on this scenario."`
}

// Requires says what a cluster must be able to do to carry the scenario.
type Requires struct {
	Node       string   `yaml:"node,required" enum:"api,kubelet,runtime" doc:"Who must be real: api (controllers are enough), kubelet, runtime."`
	Nodes      int      `yaml:"nodes" doc:"Smallest number of Nodes."`
	Kubernetes string   `yaml:"kubernetes" doc:"Smallest server version, such as \">=1.33\"."`
	Caps       []string `yaml:"caps" enum:"readyNode,realRuntime,imagePull,networkPolicy,metrics,defaultStorageClass,podSecurity,twoNodes,deploymentController,scheduler" doc:"Capabilities found by probing."`
	Verbs      []string `yaml:"verbs" doc:"Rights of the bot, each \"resource:verb,verb\"."`
}

// Parameter is a value that the command may set.
type Parameter struct {
	Type    string   `yaml:"type,required" enum:"int,string,enum,duration" doc:"int, string, enum or duration."`
	Default Value    `yaml:"default,required" doc:"Used when the command does not set it."`
	Min     *Value   `yaml:"min" doc:"Smallest int or duration."`
	Max     *Value   `yaml:"max" doc:"Largest int or duration."`
	Pattern string   `yaml:"pattern" doc:"Regular expression (RE2) that a string must match."`
	Values  []string `yaml:"values" doc:"The words of an enum."`
	About   lab.Text `yaml:"about" doc:"What it changes."`
}

// ImageRule says what must hold for an image before it is used.
type ImageRule struct {
	MustNotExist   bool   `yaml:"mustNotExist" doc:"The registry must answer \"not found\"."`
	SameRegistryAs string `yaml:"sameRegistryAs" doc:"Logical name of an image from the same registry."`
}

// Namespace is the namespace that a run works in.
type Namespace struct {
	Name string `yaml:"name,required" doc:"Starts with k8s- or lab-."`
	Mode string `yaml:"mode,required" enum:"exact,suffix" doc:"exact: this name, one run at a time. suffix: NAME-RUN, in parallel."`
}

// WatchSpec names one live object or a list of them.
type WatchSpec struct {
	Kind       string `yaml:"kind,required" doc:"Kind of the objects."`
	APIVersion string `yaml:"apiVersion,required" doc:"API group and version, such as apps/v1."`
	Name       string `yaml:"name" doc:"Name of one object."`
	Selector   string `yaml:"selector" doc:"Label selector of a list."`
	List       bool   `yaml:"list" doc:"A list, never null."`
}

// Phases are the parts of a run, in order.
type Phases struct {
	Prepare []Step     `yaml:"prepare,required" doc:"Builds the healthy start."`
	Inject  []Step     `yaml:"inject" doc:"Breaks it."`
	Observe []Step     `yaml:"observe" doc:"Shows the symptom and posts the evidence."`
	Fix     *FixSpec   `yaml:"fix" doc:"The learners' part."`
	Verify  VerifySpec `yaml:"verify,required" doc:"What proves the repair."`
	Cleanup []Step     `yaml:"cleanup,required" doc:"Takes everything away and proves it."`
}

// Step is one step of a phase: at most one action, and what must hold.
type Step struct {
	ID     string
	Action ActionKind
	// Args are the action's own arguments, of the type that its table entry makes.
	Args    any
	Expect  Expect
	Assert  []Assert
	Say     lab.Text
	Timeout time.Duration
	Pos     Pos
}

// Expect is the outcome that a step must have. At most one field is set; none
// means done.
type Expect struct {
	Timeout   bool
	Error     string // an API reason, such as NotFound
	Condition string // a condition's reason
}

// Assert is a named condition with a mode over time.
type Assert struct {
	Name   string        `yaml:"name,required" doc:"Unique in its step."`
	Expr   Expr          `yaml:"expr,required" doc:"CEL, true or false."`
	Mode   string        `yaml:"mode,required" enum:"now,eventually,always,never" doc:"now, eventually, always or never."`
	Within time.Duration `yaml:"within" doc:"How long to wait or watch."`
	Hold   time.Duration `yaml:"hold" doc:"How long it must stay true."`
	Unless *Unless       `yaml:"unless" doc:"A known outside cause."`
	Say    lab.Text      `yaml:"say" doc:"Told when it fails."`
}

// Unless turns a failure into trouble outside the lesson.
type Unless struct {
	Expr    Expr   `yaml:"expr,required" doc:"CEL, true when the cause is outside."`
	Outcome string `yaml:"outcome,required" enum:"infrastructure" doc:"Always infrastructure."`
}

// FixSpec is the learners' part of a run.
type FixSpec struct {
	Timeout  time.Duration `yaml:"timeout,required" doc:"Ends the run as timed out."`
	Buttons  []Button      `yaml:"buttons" doc:"hint, stop, and repairs by button."`
	Accepted []Accepted    `yaml:"accepted" doc:"How it may have been repaired; the first match picks the praise."`
}

// Button is one button of the thread.
type Button struct {
	ID          string    `yaml:"id,required" doc:"hint, stop, or a name of its own."`
	EnableAfter string    `yaml:"enableAfter" doc:"Id of the step after which it may be pressed."`
	Undo        *UndoArgs `yaml:"undo" doc:"Writes a Pod template back from a snapshot."`
}

// Accepted describes one way of repair.
type Accepted struct {
	Name string   `yaml:"name,required" doc:"Unique in the list."`
	Expr Expr     `yaml:"expr,required" doc:"CEL, true when it was repaired this way."`
	Note bool     `yaml:"note" doc:"The run passes with a note."`
	Say  lab.Text `yaml:"say" doc:"Told when it matches."`
}

// VerifySpec is the proof of repair.
type VerifySpec struct {
	Oracle   []OracleItem  `yaml:"oracle,required" doc:"All must be true together for the longest hold."`
	Evidence *EvidenceArgs `yaml:"evidence" doc:"Posted when the oracle is true."`
}

// OracleItem is one part of the proof.
type OracleItem struct {
	Name   string        `yaml:"name,required" doc:"Unique in the list."`
	Expr   Expr          `yaml:"expr,required" doc:"CEL over outcomes, never over Events."`
	Within time.Duration `yaml:"within" doc:"How long to wait for it."`
	Hold   time.Duration `yaml:"hold" doc:"How long it must stay true."`
	Note   bool          `yaml:"note" doc:"When false at the end the run passes with a note."`
	Say    lab.Text      `yaml:"say" doc:"Told when it decides."`
}

// Hint is one step of the ladder of hints.
type Hint struct {
	After time.Duration `yaml:"after,required" doc:"Since the learners' part began."`
	Cost  int           `yaml:"cost" doc:"Points; the first hint is free."`
	Text  lab.Text      `yaml:"text,required" doc:"The hint."`
	When  Expr          `yaml:"when" doc:"CEL; the hint is offered only while true."`
}

// Moves are typical moves that do not repair.
type Moves struct {
	Wrong []Move `yaml:"wrong" doc:"Detected and explained, never blocked."`
}

// Move is one typical wrong move.
type Move struct {
	Name string   `yaml:"name,required" doc:"Unique in the list."`
	Expr Expr     `yaml:"expr,required" doc:"CEL over live state."`
	Cost int      `yaml:"cost" doc:"Points, once a run."`
	Say  lab.Text `yaml:"say,required" doc:"Why it does not repair."`
}

// Question is one quiz question on a scenario.
type Question struct {
	ID       string   `yaml:"id,required" doc:"Unique over the library."`
	Type     string   `yaml:"type,required" enum:"single,multi,number,text,order" doc:"Form of the answer."`
	Text     lab.Text `yaml:"text,required" doc:"The question."`
	Options  []Option `yaml:"options" doc:"Choices of single, multi and order."`
	Right    Right    `yaml:"right,required" doc:"Option ids, a value, or CEL."`
	Explain  lab.Text `yaml:"explain" doc:"Why it is right."`
	Evidence []string `yaml:"evidence" doc:"Steps whose evidence must have been posted."`
}

// Option is one choice of a question.
type Option struct {
	ID   string   `yaml:"id,required" doc:"Short name."`
	Text lab.Text `yaml:"text,required" doc:"The choice."`
}

// Right is the right answer: option ids, or one value.
type Right struct {
	IDs   []string
	Value any
	Expr  Expr
}
