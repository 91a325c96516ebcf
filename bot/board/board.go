// Package board draws a run as Slack messages: the live board at the root of the
// thread and the evidence below it.
//
// It is pure and keeps Slack's limits by construction: whatever the cluster
// puts into names and messages, the result is a message that Slack accepts and
// in which nobody is mentioned.
package board

import (
	"time"

	"github.com/slack-go/slack"

	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/trace"
	"labbot/scenarios/engine"
)

// Message is one Slack message. Text is the notification and the reading for
// screen readers; it is never empty.
type Message struct {
	Text   string
	Blocks []slack.Block
	// File, when set, is uploaded into the thread beside the message.
	File *File
}

// File is a text too long for a message.
type File struct {
	Name  string
	Title string
	Body  string
}

// Slot is a message with its place in the thread. The slot "board" is the root.
type Slot struct {
	ID      string
	Message Message
	// Urgent slots go first when Slack allows one post a second.
	Urgent bool
}

// ScenarioInfo is one scenario for List and Help.
type ScenarioInfo struct {
	ID         string
	Module     string
	Title      lab.Text
	Minutes    int
	Difficulty int // 1 to 3
}

// View is all that is drawn. Program gives the scenario's own texts.
type View struct {
	Run       lab.RunID
	Lang      lab.Lang
	StartedBy lab.UserID
	CommandAt time.Time
	Now       time.Time
	// Position is the place in the queue, 0 when running.
	Position int
	// Context, Server and Simulated name the cluster.
	Context, Server, Version string
	Simulated                bool

	Title    lab.Text
	Minutes  int
	State    engine.State
	Hops     []trace.Hop
	Exhibits map[string]exhibit.Exhibit
	// StepTitles and Kubectl hold, by step id, the step's name and the line that
	// a learner would type for it.
	StepTitles map[string]lab.Text
	Kubectl    map[string]string
	// Phases are the phases that the scenario has, in order. Those that are not
	// reached yet are drawn from it; without it only the reached ones are.
	Phases []engine.Phase
	// Holder is the run that has the namespace while this one is in the queue.
	Holder      lab.RunID
	HolderBy    lab.UserID
	HolderTitle lab.Text
	// Trouble is shown on the board while it lasts: "redis", "cluster" or "".
	Trouble      string
	TroubleSince time.Time
}
