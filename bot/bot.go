// Package bot takes what Slack delivers to the one flow that answers it.
//
// An envelope is acked with an answer within Slack's 3 s, and only after what it
// asks for is recorded. All else, such as reading from the cluster for a button,
// happens after the ack.
package bot

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/slack-go/slack"
	"go.uber.org/zap"

	"labbot/bot/board"
	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/bot/text"
	"labbot/scenarios/engine"
)

// Slack is what the answers need of Slack.
type Slack interface {
	Post(ctx context.Context, ch lab.ChannelID, parent lab.TS, meta map[string]any, content func() board.Message) (lab.TS, error)
	Ephemeral(ctx context.Context, ch lab.ChannelID, user lab.UserID, parent lab.TS, m board.Message) error
	OpenModal(ctx context.Context, trigger string, view slack.ModalViewRequest) (string, error)
	UpdateModal(ctx context.Context, id string, view slack.ModalViewRequest) error
	Member(ctx context.Context, ch lab.ChannelID) (bool, error)
}

// Runs is what the bot asks of the runs.
type Runs interface {
	Start(ctx context.Context, r run.StartRequest) (run.Started, error)
	Input(ctx context.Context, id lab.RunID, in engine.Input) error
	// Status lists the newest runs of a channel, newest first.
	Status(ctx context.Context, ch lab.ChannelID) ([]run.Record, error)
	ByThread(ctx context.Context, ch lab.ChannelID, ts lab.TS) (run.Record, error)
	Show(ctx context.Context, id lab.RunID, kind engine.ActionKind) (exhibit.Exhibit, error)
	View(r run.Record) board.View
}

// Deps is what a Bot works with.
type Deps struct {
	Slack     Slack
	Runs      Runs
	Scenarios func() []board.ScenarioInfo
	// Cluster is the name of the lab cluster of every channel.
	Cluster string
	Lang    lab.Lang
	Logger  *zap.Logger
}

// Bot answers envelopes. Close waits for the answers under way.
type Bot struct {
	Deps
	ctx    context.Context // of the answers that go on after an ack
	cancel context.CancelFunc
	after  sync.WaitGroup

	mu      sync.Mutex
	members map[lab.ChannelID]time.Time // channels the bot was found to be in
}

// New returns a Bot.
func New(d Deps) *Bot {
	ctx, cancel := context.WithCancel(context.Background())
	d.Logger = d.Logger.Named("bot")
	return &Bot{Deps: d, ctx: ctx, cancel: cancel, members: map[lab.ChannelID]time.Time{}}
}

// Close ends the answers under way.
func (b *Bot) Close() {
	b.cancel()
	b.after.Wait()
}

// afterTime bounds what follows an ack.
const afterTime = 30 * time.Second

// later does the rest of an answer beside the ack.
func (b *Bot) later(what string, do func(ctx context.Context) error) {
	b.after.Go(func() {
		ctx, cancel := context.WithTimeout(b.ctx, afterTime)
		defer cancel()
		if err := do(ctx); err != nil && b.ctx.Err() == nil {
			b.Logger.Error(what, zap.Error(err))
		}
	})
}

// Handle is the bot's Handler.
func (b *Bot) Handle(ctx context.Context, e Envelope) any {
	switch {
	case e.Command != nil:
		return b.command(ctx, e)
	case e.Interaction != nil:
		b.interaction(ctx, e)
	case e.Event != nil:
		b.event(ctx, e)
	}
	return nil
}

// answer is the ack of a slash command: a message to the sender alone.
type answer struct {
	ResponseType string        `json:"response_type"`
	Text         string        `json:"text"`
	Blocks       []slack.Block `json:"blocks,omitempty"`
}

func private(m board.Message) answer {
	return answer{ResponseType: "ephemeral", Text: m.Text, Blocks: m.Blocks}
}

// replier is an error that knows how to tell a person what is wrong.
type replier interface {
	error
	Reply(lang lab.Lang) string
}

// explain turns an error into an answer. What no error explains goes to the log,
// and the person gets a reference to it.
func (b *Bot) explain(err error, where string) board.Message {
	var r replier
	switch {
	case errors.As(err, &r):
		return say(r.Reply(b.Lang))
	case errors.Is(err, run.ErrDown), errors.Is(err, context.DeadlineExceeded):
		b.Logger.Warn(where, zap.Error(err))
		return say(text.T(b.Lang, "bot.store-down"))
	}
	ref := lab.NewRunID()[2:]
	b.Logger.Error(where, zap.Error(err), zap.String("reference", string(ref)))
	return say(text.T(b.Lang, "bot.failed", "ref", string(ref)))
}

func say(s string) board.Message {
	return board.Message{Text: s, Blocks: []slack.Block{
		slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, s, false, false), nil, nil)}}
}
