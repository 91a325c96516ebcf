package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"labbot/bot/board"
	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/bot/text"
	"labbot/scenarios/engine"
)

// shows are the buttons that read and change nothing, and what they show.
var shows = map[string]struct {
	kind  engine.ActionKind
	title string // of the modal; Slack allows 24 characters
}{
	"describe": {engine.ActDescribe, "bot.title-describe"},
	"events":   {engine.ActEvents, "bot.title-events"},
	"history":  {engine.ActRolloutHistory, "bot.title-history"},
}

// press is one press of a button of a run.
type press struct {
	button  string
	run     lab.RunID
	by      lab.UserID
	channel lab.ChannelID
	thread  lab.TS
	trigger string
	key     string
	at      time.Time
}

func (b *Bot) interaction(ctx context.Context, e Envelope) {
	i := e.Interaction
	if i.Type != slack.InteractionTypeBlockActions {
		return
	}
	for _, act := range i.ActionCallback.BlockActions {
		if !strings.HasPrefix(act.ActionID, board.ActionPrefix) {
			continue
		}
		p := press{by: lab.UserID(i.User.ID), channel: lab.ChannelID(i.Container.ChannelID),
			thread: lab.TS(i.Container.ThreadTs), trigger: i.TriggerID, at: e.At}
		if p.thread == "" {
			p.thread = lab.TS(i.Container.MessageTs)
		}
		// Unique per act: Slack gives each press its own time.
		p.key = strings.Join([]string{act.ActionTs, i.User.ID, act.ActionID}, "/")
		var err error
		if p.button, p.run, err = board.ParseAction(act.ActionID, act.Value); err == nil {
			err = b.press(ctx, p)
		}
		if err != nil {
			b.tell(p, b.explain(err, "button "+act.ActionID))
		}
	}
}

func (b *Bot) press(ctx context.Context, p press) error {
	if s, reads := shows[p.button]; reads {
		b.later("show "+p.button, func(ctx context.Context) error { return b.show(ctx, p, s.kind, s.title) })
		return nil
	}
	in := engine.Input{ID: p.key, Kind: engine.InputButton, Button: p.button, By: p.by, At: p.at}
	switch p.button {
	case "hint":
		in.Kind = engine.InputHint
	case "stop":
		in.Kind = engine.InputStop
	}
	err := b.Runs.Input(ctx, p.run, in)
	if errors.Is(err, run.ErrClosed) || errors.Is(err, run.ErrNotFound) {
		b.tell(p, say(text.T(b.Lang, "bot.run-over")))
		return nil
	}
	return err
}

// tell answers the person behind a press, in the thread, and nobody else.
func (b *Bot) tell(p press, m board.Message) {
	b.later("tell", func(ctx context.Context) error {
		return b.Slack.Ephemeral(ctx, p.channel, p.by, p.thread, m)
	})
}

// Refused tells the person behind an act why the run did not take it.
func (b *Bot) Refused(r run.Record, f engine.Fact) {
	if f.By == "" {
		return
	}
	b.later("refused", func(ctx context.Context) error {
		return b.Slack.Ephemeral(ctx, r.Channel, f.By, "", say(b.refusal(f)))
	})
}

func (b *Bot) refusal(f engine.Fact) string {
	if at, err := time.Parse(time.RFC3339, f.Detail); err == nil {
		// Slack shows the instant in the reader's own time zone.
		return text.T(b.Lang, "bot.hint-at", "time", fmt.Sprintf("<!date^%d^{time_secs}|%s>", at.Unix(), at.Format("15:04:05 MST")))
	}
	if f.Detail == "none" {
		return text.T(b.Lang, "bot.hint-none")
	}
	return text.T(b.Lang, "bot.refused", "detail", board.Escape(f.Detail, 200))
}

// showBudget is how long the modal waits for its content: the trigger lives for
// 3 s, so a slow cluster gets a modal that says so and is filled in later.
const showBudget = 1200 * time.Millisecond

func (b *Bot) show(ctx context.Context, p press, kind engine.ActionKind, title string) error {
	type shown struct {
		ex  exhibit.Exhibit
		err error
	}
	got := make(chan shown, 1)
	go func() {
		ex, err := b.Runs.Show(ctx, p.run, kind)
		got <- shown{ex, err}
	}()
	view := func(s shown) slack.ModalViewRequest {
		if s.err != nil {
			return b.modal(title, b.explain(s.err, "show"))
		}
		return b.modal(title, board.Exhibit(b.Lang, s.ex, lab.Text{}))
	}
	timer := time.NewTimer(showBudget)
	defer timer.Stop()
	select {
	case s := <-got:
		_, err := b.Slack.OpenModal(ctx, p.trigger, view(s))
		return err
	case <-timer.C:
	}
	id, err := b.Slack.OpenModal(ctx, p.trigger, b.modal(title, say(text.T(b.Lang, "bot.reading"))))
	if err != nil {
		return err
	}
	return b.Slack.UpdateModal(ctx, id, view(<-got))
}

// A view holds at most 100 blocks and 250 kB; a section 3000 characters.
const (
	modalChunks = 40
	chunkRunes  = 2800
)

// modal shows a message, and the whole of a text that was too long for one.
func (b *Bot) modal(title string, m board.Message) slack.ModalViewRequest {
	blocks := m.Blocks
	if m.File != nil {
		for n, chunk := range chunks(m.File.Body, chunkRunes) {
			if n == modalChunks {
				break
			}
			blocks = append(blocks, slack.NewSectionBlock(
				slack.NewTextBlockObject(slack.MarkdownType, board.Fence(chunk, chunkRunes), false, false), nil, nil))
		}
	}
	return slack.ModalViewRequest{
		Type:   slack.VTModal,
		Title:  slack.NewTextBlockObject(slack.PlainTextType, text.T(b.Lang, title), false, false),
		Close:  slack.NewTextBlockObject(slack.PlainTextType, text.T(b.Lang, "bot.close"), false, false),
		Blocks: slack.Blocks{BlockSet: blocks},
	}
}

// chunks cuts at line ends into pieces of at most n runes.
func chunks(s string, n int) []string {
	var out []string
	var cur strings.Builder
	size := 0
	for _, line := range strings.SplitAfter(s, "\n") {
		r := []rune(line)
		for len(r) > 0 {
			if size > 0 && size+len(r) > n {
				out = append(out, cur.String())
				cur.Reset()
				size = 0
			}
			take := min(len(r), n)
			cur.WriteString(string(r[:take]))
			size += take
			r = r[take:]
		}
	}
	if size > 0 {
		out = append(out, cur.String())
	}
	return out
}
