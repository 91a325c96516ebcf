package run

import (
	"context"
	"errors"
	"time"

	"labbot/bot/board"
	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/trace"
	"labbot/scenarios/engine"
)

// ErrDown says that the log could not be asked. Nothing is known of whether a
// write took place; every write may be repeated with the same arguments.
var ErrDown = errors.New("the run log does not answer")

// ErrExists says that a run with this id is recorded already.
var ErrExists = errors.New("the run exists already")

// ErrHeld says that another live owner has the run.
var ErrHeld = errors.New("another owner holds the run")

// ErrFull says that too many wait already: runs for a namespace, or acts of
// people for a run.
var ErrFull = errors.New("too many are waiting")

// ErrClosed says that the run is over and takes nothing more.
var ErrClosed = errors.New("the run is over")

// Change is what one commit alters. Nil and zero fields stay as they are.
type Change struct {
	State    *engine.State
	Position *int
	Hops     []trace.Hop                // the whole list
	Exhibits map[string]exhibit.Exhibit // added or replaced, by step id
	Facts    []engine.Fact              // appended
	Consumed []string                   // ids of the inputs that State has taken
	// Release gives up the claim, so that anybody may take the run at once.
	Release bool
	// Close ends the run for good; its keys get a time to live.
	Close bool
}

// Brief is what the sweep and a list need to know of a live run.
type Brief struct {
	ID         lab.RunID
	Cluster    string
	Namespace  string
	Channel    lab.ChannelID
	Ver        int64
	Owner      string // empty when nobody holds it
	ClaimUntil time.Time
	// Inputs is how many acts of people wait.
	Inputs int
}

// Free tells whether anybody may claim the run at the log's time now.
func (b Brief) Free(now time.Time) bool { return b.Owner == "" || !b.ClaimUntil.After(now) }

// Log keeps the records of runs. Each method is one atomic change, safe to
// repeat, and every time in it is the log's own clock.
type Log interface {
	// Create records a new run. The same record given twice is ErrExists.
	Create(ctx context.Context, r Record) error
	// Load reads a run, waiting inputs included.
	Load(ctx context.Context, id lab.RunID) (Record, error)
	// Claim makes owner the holder of the run for ttl and raises the version. A
	// ver below zero accepts any version; else another one is ErrLost. While
	// another owner's claim lasts it is ErrHeld, and for a closed run ErrClosed.
	// An owner is "instance/boot": another boot of the same instance is
	// known to be dead, and its claim does not count.
	Claim(ctx context.Context, id lab.RunID, ver int64, owner string, ttl time.Duration) (Record, error)
	// Renew prolongs the claim and returns the waiting inputs. It is ErrLost as
	// soon as anybody else has claimed the run.
	Renew(ctx context.Context, id lab.RunID, owner string, ttl time.Duration) ([]engine.Input, error)
	// Commit applies a change to the version ver and returns the next version.
	Commit(ctx context.Context, id lab.RunID, ver int64, c Change) (int64, error)
	// PushInput leaves an act of a person for the run's next step, whatever its
	// version. The same input id counts once.
	PushInput(ctx context.Context, id lab.RunID, in engine.Input) (Brief, error)
	// Facts is the run's event log, oldest first.
	Facts(ctx context.Context, id lab.RunID) ([]engine.Fact, error)
	// Active lists the runs of a cluster that are not closed, oldest first.
	Active(ctx context.Context, cluster string) ([]Brief, error)
	// Due lists the live runs of all clusters that nobody holds now, oldest first.
	Due(ctx context.Context) ([]Brief, error)

	Turns
	Index
	Postings
}

// Turns is the queue for a namespace that only one run may have at a time.
type Turns interface {
	// Enter puts the run at the end of the line, once, and returns its place; 0
	// is its turn.
	Enter(ctx context.Context, cluster, namespace string, id lab.RunID) (int, error)
	// Leave takes the run out and returns whose turn it is now, if anybody's.
	Leave(ctx context.Context, cluster, namespace string, id lab.RunID) (lab.RunID, error)
}

// Index finds runs by where people see them.
type Index interface {
	// Latest lists the newest runs of a channel, newest first, at most n.
	Latest(ctx context.Context, channel lab.ChannelID, n int) ([]lab.RunID, error)
	// InThread finds the run whose board is the message ts, or ErrNotFound.
	InThread(ctx context.Context, channel lab.ChannelID, ts lab.TS) (lab.RunID, error)
}

// Posting is what is recorded of one message of a run's thread.
type Posting struct {
	Slot string `json:"slot"`
	// Since is when a post was begun. With an empty TS it may or may not stand
	// in Slack: look for it before posting again.
	Since time.Time `json:"since,omitzero"`
	TS    lab.TS    `json:"ts,omitempty"`
	// Hash is the caller's hash of the content that stands in Slack.
	Hash string `json:"hash,omitempty"`
}

// Begun tells whether anybody has ever begun to post the slot.
func (p Posting) Begun() bool { return !p.Since.IsZero() }

// Postings records the messages of a run's thread, intent before effect.
type Postings interface {
	// BeginPost records that the slot is about to be posted and returns what was
	// recorded before: not begun means that the caller may post.
	BeginPost(ctx context.Context, id lab.RunID, slot string) (Posting, error)
	// EndPost records the message and its content, after a post and after each
	// edit. A slot keeps its first TS; what is returned is what is recorded.
	EndPost(ctx context.Context, id lab.RunID, slot string, ts lab.TS, hash string) (Posting, error)
	// Slots reads all that is recorded of a run's thread, by slot.
	Slots(ctx context.Context, id lab.RunID) (map[string]Posting, error)
}

// RootSlot is the slot of the message that a run's thread hangs from.
const RootSlot = board.SlotBoard
