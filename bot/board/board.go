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
	// Trouble is shown on the board while it lasts: "redis", "cluster" or "".
	Trouble      string
	TroubleSince time.Time
}
