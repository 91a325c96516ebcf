package bot

import (
	"context"
	"slices"
	"time"

	"github.com/slack-go/slack/slackevents"

	"labbot/bot/board"
	"labbot/bot/command"
	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/bot/text"
	"labbot/scenarios/engine"
)

// asked is a command with who typed it and where.
type asked struct {
	command.Command
	by      lab.UserID
	channel lab.ChannelID
	thread  lab.TS // root of the thread it was typed in, if any
	key     string // unique per act
	at      time.Time
}

// verbs is the one table of commands. A new command is a row here, a row in
// bot/command and its texts.
var verbs = map[command.Verb]func(*Bot, context.Context, asked) (board.Message, error){
	command.Help:    (*Bot).help,
	command.List:    (*Bot).list,
	command.Status:  (*Bot).status,
	command.Run:     (*Bot).start,
	command.Stop:    (*Bot).stop,
	command.Cleanup: (*Bot).stop, // of an ended run, stop shows the proof
}

func (b *Bot) command(ctx context.Context, e Envelope) any {
	c := e.Command
	return private(b.do(ctx, c.Text, asked{
		by: lab.UserID(c.UserID), channel: lab.ChannelID(c.ChannelID), key: c.TriggerID, at: e.At}))
}

func (b *Bot) do(ctx context.Context, typed string, a asked) board.Message {
	cmd, err := command.Parse(typed, b.names())
	if err != nil {
		return b.explain(err, "command")
	}
	a.Command = cmd
	m, err := verbs[cmd.Verb](b, ctx, a)
	if err != nil {
		return b.explain(err, string(cmd.Verb))
	}
	return m
}

func (b *Bot) names() []string {
	var names []string
	for _, s := range b.Scenarios() {
		names = append(names, s.ID)
	}
	return names
}

func (b *Bot) help(context.Context, asked) (board.Message, error) {
	return board.Help(b.Lang, b.Scenarios()), nil
}

func (b *Bot) list(context.Context, asked) (board.Message, error) {
	return board.List(b.Lang, b.Scenarios()), nil
}

func (b *Bot) status(ctx context.Context, a asked) (board.Message, error) {
	records, err := b.Runs.Status(ctx, a.channel)
	if err != nil {
		return board.Message{}, err
	}
	var views []board.View
	for _, r := range records {
		if a.RunID == "" && len(views) > 0 && over(r) || a.RunID != "" && r.ID != a.RunID {
			continue // ended runs are shown only when nothing else is
		}
		views = append(views, b.Runs.View(r))
	}
	return board.Status(b.Lang, views), nil
}

func (b *Bot) start(ctx context.Context, a asked) (board.Message, error) {
	if in, err := b.memberOf(ctx, a.channel); err == nil && !in {
		return say(text.T(b.Lang, "bot.invite")), nil
	}
	started, err := b.Runs.Start(ctx, run.StartRequest{
		Key: a.key, Scenario: a.Scenario, Params: a.Params, Cluster: b.Cluster, Cohort: lab.CohortID(a.channel),
		Channel: a.channel, Lang: b.Lang, StartedBy: a.by, CommandAt: a.at})
	if err != nil {
		return board.Message{}, err
	}
	if started.Position > 0 {
		return say(text.N(b.Lang, "bot.queued", started.Position, "scenario", a.Scenario)), nil
	}
	return say(text.T(b.Lang, "bot.starting", "scenario", a.Scenario)), nil
}

// memberTime is how long the bot takes its membership of a channel for granted.
const memberTime = 5 * time.Minute

// memberOf tells whether the bot may post here. It asks Slack rarely, and only
// as long as the ack can wait.
func (b *Bot) memberOf(ctx context.Context, ch lab.ChannelID) (bool, error) {
	b.mu.Lock()
	seen := b.members[ch]
	b.mu.Unlock()
	if time.Since(seen) < memberTime {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	in, err := b.Slack.Member(ctx, ch)
	if err == nil && in {
		b.mu.Lock()
		b.members[ch] = time.Now()
		b.mu.Unlock()
	}
	return in, err
}

// current finds the run that a stop or cleanup is about: the one named, the one
// of this thread, else the one under way in the channel, else the one queued last.
func (b *Bot) current(ctx context.Context, a asked) (run.Record, bool, error) {
	records, err := b.Runs.Status(ctx, a.channel)
	if err != nil {
		return run.Record{}, false, err
	}
	if a.thread != "" && a.RunID == "" {
		if r, err := b.Runs.ByThread(ctx, a.channel, a.thread); err == nil {
			a.RunID = r.ID
		}
	}
	match := []func(run.Record) bool{
		func(r run.Record) bool { return !over(r) && r.Position == 0 },
		func(r run.Record) bool { return !over(r) },
		func(run.Record) bool { return true },
	}
	if a.RunID != "" {
		match = []func(run.Record) bool{func(r run.Record) bool { return r.ID == a.RunID }}
	}
	for _, m := range match {
		if i := slices.IndexFunc(records, m); i >= 0 {
			return records[i], true, nil
		}
	}
	return run.Record{}, false, nil
}

// over tells whether a run has nothing left to do but its last messages.
func over(r run.Record) bool { return r.Closed || r.State.Phase == engine.Ended }

func (b *Bot) stop(ctx context.Context, a asked) (board.Message, error) {
	r, found, err := b.current(ctx, a)
	switch {
	case err != nil:
		return board.Message{}, err
	case !found:
		return say(text.T(b.Lang, "bot.nothing-runs")), nil
	case over(r):
		return b.ended(r), nil
	}
	err = b.Runs.Input(ctx, r.ID, engine.Input{ID: a.key, Kind: engine.InputStop, By: a.by, At: a.at})
	if err != nil {
		return board.Message{}, err
	}
	return say(text.T(b.Lang, "bot.stopping", "scenario", r.State.Scenario, "namespace", r.State.Namespace)), nil
}

func (b *Bot) ended(r run.Record) board.Message {
	key := map[engine.CleanResult]string{
		engine.Clean:          "bot.ended-clean",
		engine.CleanNotNeeded: "bot.ended-nothing-made",
		engine.Dirty:          "bot.ended-dirty",
	}[r.State.Cleaned]
	if key == "" {
		key = "bot.ended-dirty"
	}
	return say(text.T(b.Lang, key, "scenario", r.State.Scenario, "namespace", r.State.Namespace, "remains", board.Escape(r.State.Remains, 500)))
}

// event answers a mention: a command in a thread, where slash commands do not
// exist.
func (b *Bot) event(_ context.Context, e Envelope) {
	m, ok := e.Event.InnerEvent.Data.(*slackevents.AppMentionEvent)
	if !ok || m.BotID != "" {
		return
	}
	a := asked{by: lab.UserID(m.User), channel: lab.ChannelID(m.Channel), thread: lab.TS(m.ThreadTimeStamp),
		key: m.Channel + "/" + m.TimeStamp, at: e.At}
	b.later("mention", func(ctx context.Context) error {
		reply := b.do(ctx, m.Text, a)
		parent := a.thread
		if parent == "" {
			parent = lab.TS(m.TimeStamp)
		}
		_, err := b.Slack.Post(ctx, a.channel, parent, nil, func() board.Message { return reply })
		return err
	})
}
