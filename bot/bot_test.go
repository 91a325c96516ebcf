package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"go.uber.org/zap/zaptest"

	"labbot/bot/board"
	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/scenarios/engine"
)

// slackFake notes what the bot says.
type slackFake struct {
	mu     sync.Mutex
	said   []string
	member bool
}

func (s *slackFake) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

func (s *slackFake) Post(_ context.Context, ch lab.ChannelID, parent lab.TS, _ map[string]any, content func() board.Message) (lab.TS, error) {
	s.note("post %s/%s: %s", ch, parent, content().Text)
	return "2.0", nil
}

func (s *slackFake) Ephemeral(_ context.Context, ch lab.ChannelID, user lab.UserID, parent lab.TS, m board.Message) error {
	s.note("whisper %s/%s to %s: %s", ch, parent, user, m.Text)
	return nil
}

func (s *slackFake) OpenModal(_ context.Context, trigger string, view slack.ModalViewRequest) (string, error) {
	s.note("open %s: %s", trigger, reading(view))
	return "V1", nil
}

func (s *slackFake) UpdateModal(_ context.Context, id string, view slack.ModalViewRequest) error {
	s.note("update %s: %s", id, reading(view))
	return nil
}

func (s *slackFake) Member(context.Context, lab.ChannelID) (bool, error) { return s.member, nil }

func reading(v slack.ModalViewRequest) string {
	raw, _ := json.Marshal(v.Blocks)
	if len(raw) > 160 {
		raw = raw[:160]
	}
	return v.Title.Text + " " + string(raw)
}

// runsFake takes everything, or fails with err.
type runsFake struct {
	mu      sync.Mutex
	started []run.StartRequest
	inputs  []engine.Input
	records []run.Record
	err     error
	showFor time.Duration
}

func (r *runsFake) Start(_ context.Context, q run.StartRequest) (run.Started, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return run.Started{}, r.err
	}
	r.started = append(r.started, q)
	return run.Started{ID: "r-00000001", Position: len(r.started) - 1}, nil
}

func (r *runsFake) Input(_ context.Context, _ lab.RunID, in engine.Input) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	r.inputs = append(r.inputs, in)
	return nil
}

func (r *runsFake) Status(context.Context, lab.ChannelID) ([]run.Record, error) {
	return r.records, r.err
}

func (r *runsFake) ByThread(context.Context, lab.ChannelID, lab.TS) (run.Record, error) {
	if len(r.records) == 0 {
		return run.Record{}, run.ErrNotFound
	}
	return r.records[len(r.records)-1], nil
}

func (r *runsFake) Show(ctx context.Context, _ lab.RunID, kind engine.ActionKind) (exhibit.Exhibit, error) {
	select {
	case <-time.After(r.showFor):
	case <-ctx.Done():
		return exhibit.Exhibit{}, ctx.Err()
	}
	return exhibit.Exhibit{Kind: string(kind), Parts: []exhibit.Part{{Object: "Deployment/web", Section: "spec", Lines: []exhibit.Line{{Text: "replicas: 2"}}}}}, r.err
}

func (r *runsFake) View(rec run.Record) board.View {
	return board.View{Run: rec.ID, Title: lab.Text{RU: "Урок", EN: "Lesson"}, State: rec.State}
}

func newBench(t *testing.T) (*Bot, *slackFake, *runsFake) {
	s, r := &slackFake{member: true}, &runsFake{}
	b := New(Deps{Slack: s, Runs: r, Cluster: "lab", Lang: lab.EN, Logger: zaptest.NewLogger(t),
		Scenarios: func() []board.ScenarioInfo {
			return []board.ScenarioInfo{{ID: "break-image", Title: lab.Text{RU: "Образ", EN: "Image"}}}
		}})
	return b, s, r
}

func typed(text string) Envelope {
	return Envelope{ID: "e1", At: time.Unix(100, 0), Command: &slack.SlashCommand{
		Command: "/lab", Text: text, UserID: "U1", ChannelID: "C1", TriggerID: "t1"}}
}

func pressed(action string, value string) Envelope {
	i := slack.InteractionCallback{Type: slack.InteractionTypeBlockActions, TriggerID: "t2", User: slack.User{ID: "U2"},
		Container: slack.Container{ChannelID: "C1", MessageTs: "1.0"}}
	i.ActionCallback.BlockActions = []*slack.BlockAction{{ActionID: action, Value: value, ActionTs: "9.9"}}
	return Envelope{ID: "e2", At: time.Unix(200, 0), Interaction: &i}
}

const value = `{"run":"r-00000001","v":1}`

func TestACommandIsAnsweredInItsAck(t *testing.T) {
	record := func(closed bool, clean engine.CleanResult) []run.Record {
		return []run.Record{{ID: "r-00000001", Closed: closed, State: engine.State{Scenario: "break-image", Namespace: "k8s-m01", Cleaned: clean}}}
	}
	ended := record(false, engine.Clean)
	ended[0].State.Phase = engine.Ended
	for name, c := range map[string]struct {
		text    string
		records []run.Record
		err     error
		want    string
	}{
		"help":                   {text: "", want: "break-image"},
		"unknown":                {text: "brake-image", want: "Did you mean `/lab break-image`"},
		"start":                  {text: "break-image", want: "Starting `break-image`"},
		"stop with nothing":      {text: "stop", want: "Nothing has been run"},
		"stop":                   {text: "stop", records: record(false, ""), want: "Stopping `break-image`"},
		"cleanup of a clean run": {text: "cleanup", records: record(true, engine.Clean), want: "answers NotFound"},
		"cleanup where none was": {text: "cleanup", records: record(true, engine.CleanNotNeeded), want: "was not touched"},
		"cleanup between the proof and the last message": {text: "cleanup", records: ended, want: "answers NotFound"},
		"cleanup of a dirty run":                         {text: "cleanup", records: record(true, engine.Dirty), want: "not gone yet"},
		"redis is away":                                  {text: "break-image", err: fmt.Errorf("create: %w", run.ErrDown), want: "Redis does not answer"},
		"time is up":                                     {text: "break-image", err: context.DeadlineExceeded, want: "Redis does not answer"},
		"an error nobody explains":                       {text: "break-image", err: errors.New("boom"), want: "Reference in the bot's log"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _, r := newBench(t)
			defer b.Close()
			r.records, r.err = c.records, c.err
			got, ok := b.Handle(t.Context(), typed(c.text)).(answer)
			if !ok || got.ResponseType != "ephemeral" || !strings.Contains(got.Text+blocks(got), c.want) {
				t.Errorf("ack of %q = %+v, want %q in it", c.text, got, c.want)
			}
			if strings.Contains(got.Text, "boom") {
				t.Errorf("the answer shows an inner error: %s", got.Text)
			}
		})
	}
}

func blocks(a answer) string {
	raw, _ := json.Marshal(a.Blocks)
	return string(raw)
}

func TestAnUninvitedBotSaysSo(t *testing.T) {
	b, s, r := newBench(t)
	defer b.Close()
	s.member = false
	got := b.Handle(t.Context(), typed("break-image")).(answer)
	if !strings.Contains(got.Text, "/invite @labbot") || len(r.started) != 0 {
		t.Errorf("ack = %q, %d runs started", got.Text, len(r.started))
	}
}

func TestAPressIsAnInput(t *testing.T) {
	for action, want := range map[string]engine.Input{
		"run:rollback": {Kind: engine.InputButton, Button: "rollback"},
		"run:hint":     {Kind: engine.InputHint, Button: "hint"},
		"run:stop":     {Kind: engine.InputStop, Button: "stop"},
	} {
		t.Run(action, func(t *testing.T) {
			b, _, r := newBench(t)
			b.Handle(t.Context(), pressed(action, value))
			b.Handle(t.Context(), pressed(action, value)) // delivered again: the same id
			b.Close()
			want.ID, want.By, want.At = "9.9/U2/"+action, "U2", time.Unix(200, 0)
			if diff := cmp.Diff([]engine.Input{want, want}, r.inputs); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPressAfterTheEndIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s, r := newBench(t)
		r.err = run.ErrClosed
		b.Handle(t.Context(), pressed("run:rollback", value))
		synctest.Wait()
		b.Close()
		if len(s.said) != 1 || !strings.HasPrefix(s.said[0], "whisper C1/1.0 to U2: This run is over") {
			t.Errorf("said %q", s.said)
		}
	})
}

func TestAForeignValueStartsNothing(t *testing.T) {
	for _, v := range []string{"", "{}", `{"run":"r-1","v":7}`, strings.Repeat("[", 1000)} {
		b, _, r := newBench(t)
		b.Handle(t.Context(), pressed("run:rollback", v))
		b.Close()
		if len(r.inputs) != 0 {
			t.Errorf("value %.20q became the input %+v", v, r.inputs)
		}
	}
}

func TestAModalWaitsForItsContentButNotLong(t *testing.T) {
	for name, c := range map[string]struct {
		takes time.Duration
		want  []string
	}{
		"quick": {100 * time.Millisecond, []string{"open t2: kubectl describe"}},
		"slow":  {10 * time.Second, []string{"open t2: kubectl describe", "update V1: kubectl describe"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s, r := newBench(t)
				r.showFor = c.takes
				if ack := b.Handle(t.Context(), pressed("run:describe", value)); ack != nil {
					t.Errorf("ack = %v, want a bare one", ack)
				}
				time.Sleep(time.Minute)
				b.Close()
				if len(s.said) != len(c.want) {
					t.Fatalf("said %q", s.said)
				}
				for i, w := range c.want {
					if !strings.HasPrefix(s.said[i], w) {
						t.Errorf("said %q, want %q", s.said[i], w)
					}
				}
			})
		})
	}
}

func TestAMentionIsAnsweredInItsThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s, _ := newBench(t)
		e := slackevents.EventsAPIEvent{InnerEvent: slackevents.EventsAPIInnerEvent{
			Data: &slackevents.AppMentionEvent{User: "U1", Channel: "C1", Text: "<@U0LABBOT01> stop", TimeStamp: "3.0", ThreadTimeStamp: "1.0"}}}
		b.Handle(t.Context(), Envelope{ID: "e3", Event: &e})
		synctest.Wait()
		b.Close()
		if len(s.said) != 1 || !strings.HasPrefix(s.said[0], "post C1/1.0: Nothing has been run") {
			t.Errorf("said %q", s.said)
		}
	})
}

func TestABotsOwnMentionIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s, _ := newBench(t)
		e := slackevents.EventsAPIEvent{InnerEvent: slackevents.EventsAPIInnerEvent{
			Data: &slackevents.AppMentionEvent{BotID: "B1", Channel: "C1", Text: "<@U0LABBOT01> help", TimeStamp: "3.0"}}}
		b.Handle(t.Context(), Envelope{ID: "e3", Event: &e})
		synctest.Wait()
		b.Close()
		if len(s.said) != 0 {
			t.Errorf("said %q", s.said)
		}
	})
}

func TestChunksKeepEveryRune(t *testing.T) {
	text := strings.Repeat("строка Describe\n", 500) + strings.Repeat("я", 9000)
	var all strings.Builder
	for _, c := range chunks(text, chunkRunes) {
		if n := len([]rune(c)); n > chunkRunes {
			t.Errorf("a chunk has %d runes", n)
		}
		all.WriteString(c)
	}
	if all.String() != text {
		t.Error("the chunks do not add up to the text")
	}
}
