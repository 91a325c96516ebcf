package thread

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap/zaptest"

	"labbot/bot/board"
	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/bot/run/runtest"
)

// slackFake is a channel in memory. Slow calls, lost answers and refusals are
// switched on by its fields.
type slackFake struct {
	mu       sync.Mutex
	messages []*fakeMessage
	calls    []string
	files    []string
	takes    time.Duration // of every call
	loseNext bool          // the next post happens, its answer does not arrive
	refuse   error         // what every post gives
}

type fakeMessage struct {
	ts, parent lab.TS
	text       string
	meta       map[string]any
}

func (s *slackFake) Post(ctx context.Context, _ lab.ChannelID, parent lab.TS, meta map[string]any, content func() board.Message) (lab.TS, error) {
	s.wait(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return "", s.refuse
	}
	m := &fakeMessage{ts: lab.TS(fmt.Sprintf("%d.000000", len(s.messages)+1)), parent: parent, text: content().Text, meta: meta}
	s.messages = append(s.messages, m)
	s.calls = append(s.calls, "post "+m.text)
	if s.loseNext {
		s.loseNext = false
		return "", errors.New("connection reset")
	}
	return m.ts, nil
}

func (s *slackFake) Update(ctx context.Context, _ lab.ChannelID, ts lab.TS, _ map[string]any, content func() board.Message) error {
	s.wait(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.ts == ts {
			m.text = content().Text
			s.calls = append(s.calls, "edit "+m.text)
			return nil
		}
	}
	return refusedError("message_not_found")
}

func (s *slackFake) Upload(_ context.Context, _ lab.ChannelID, parent lab.TS, name, _, _ string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, string(parent)+" "+name)
	return "F1", nil
}

func (s *slackFake) Find(_ context.Context, _ lab.ChannelID, parent lab.TS, _ time.Time, want map[string]any) (lab.TS, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, "find")
	for _, m := range s.messages {
		if m.parent == parent && cmp.Equal(m.meta, want) {
			return m.ts, true, nil
		}
	}
	return "", false, nil
}

func (s *slackFake) wait(ctx context.Context) {
	if s.takes > 0 {
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
		}
	}
}

func (s *slackFake) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, m := range s.messages {
		out = append(out, string(m.parent)+"|"+m.text)
	}
	return out
}

type refusedError string

func (e refusedError) Error() string { return string(e) }
func (e refusedError) Lasting() bool { return true }

func slots(texts ...string) []board.Slot {
	var out []board.Slot
	for i, text := range texts {
		id := "board"
		if i > 0 {
			id = fmt.Sprintf("step-%d", i)
		}
		out = append(out, board.Slot{ID: id, Message: board.Message{Text: text}})
	}
	return out
}

const runA lab.RunID = "r-aaaaaaaa"

// bench starts Threads inside the bubble on a log that knows the run.
func bench(t *testing.T, s *slackFake) (*Threads, *runtest.Log, func()) {
	t.Helper()
	log := runtest.NewLog()
	if err := log.Create(t.Context(), run.Record{ID: runA, Channel: "C1"}); err != nil {
		t.Fatal(err)
	}
	th, stop := open(t, s, log)
	return th, log, stop
}

func open(t *testing.T, s *slackFake, log *runtest.Log) (*Threads, func()) {
	th := New(s, log, zaptest.NewLogger(t))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = th.Run(ctx) }()
	return th, func() { cancel(); <-done }
}

func TestRepliesFollowTheRoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slackFake{}
		th, _, stop := bench(t, s)
		defer stop()
		var told []lab.RunID
		th.OnPosted = func(id lab.RunID) { told = append(told, id) }
		th.Publish(run.Thread{Run: runA, Channel: "C1", Slots: slots("root", "one", "two")})
		synctest.Wait()
		if diff := cmp.Diff([]string{"|root", "1.000000|one", "1.000000|two"}, s.texts()); diff != "" {
			t.Error(diff)
		}
		if len(told) != 3 {
			t.Errorf("OnPosted was told %d times, want 3", len(told))
		}
		if ok, err := th.Settled(t.Context(), runA); !ok || err != nil {
			t.Errorf("Settled = %t, %v", ok, err)
		}
	})
}

func TestOnlyTheNewestIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slackFake{takes: 10 * time.Second}
		th, _, stop := bench(t, s)
		defer stop()
		for n := range 100 {
			th.Publish(run.Thread{Run: runA, Channel: "C1", Slots: slots(fmt.Sprintf("state %d", n))})
		}
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"|state 99"}, s.texts()); diff != "" {
			t.Error(diff)
		}
		for n := range 100 {
			th.Publish(run.Thread{Run: runA, Channel: "C1", Slots: slots(fmt.Sprintf("later %d", n))})
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		s.mu.Lock()
		edits := slices.DeleteFunc(slices.Clone(s.calls), func(c string) bool { return c[:4] != "edit" })
		s.mu.Unlock()
		if len(edits) > 3 || s.texts()[0] != "|later 99" {
			t.Errorf("100 states in 10 s took %d edits (%v) and end with %q, want at most 3 and the last", len(edits), edits, s.texts()[0])
		}
	})
}

func TestALostAnswerGivesOneMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slackFake{loseNext: true}
		th, _, stop := bench(t, s)
		defer stop()
		th.Publish(run.Thread{Run: runA, Channel: "C1", Slots: slots("root", "one")})
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"|root", "1.000000|one"}, s.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestANewProcessAdoptsWhatStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slackFake{}
		th, log, stop := bench(t, s)
		th.Publish(run.Thread{Run: runA, Channel: "C1", Slots: slots("root", "one")})
		synctest.Wait()
		stop()
		// Another process began to post the next slot and died before it knew the ts.
		if _, err := log.BeginPost(t.Context(), runA, "step-2"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Post(t.Context(), "C1", "1.000000", meta(runA, "step-2"), func() board.Message { return board.Message{Text: "old two"} }); err != nil {
			t.Fatal(err)
		}
		th, stop = open(t, s, log)
		defer stop()
		th.Publish(run.Thread{Run: runA, Channel: "C1", Slots: slots("root", "one", "two", "three")})
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"|root", "1.000000|one", "1.000000|two", "1.000000|three"}, s.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestARefusalIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slackFake{refuse: refusedError("is_archived")}
		th, _, stop := bench(t, s)
		defer stop()
		th.Publish(run.Thread{Run: runA, Channel: "C1", Slots: slots("root", "one")})
		time.Sleep(time.Hour)
		if len(s.texts()) != 0 {
			t.Errorf("posted %v", s.texts())
		}
		if ok, _ := th.Posted(t.Context(), runA, "board"); ok {
			t.Error("Posted(board) = true")
		}
	})
}

func TestTroubleWithTheLogDoesNotSilenceTheThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slackFake{}
		th, log, stop := bench(t, s)
		defer stop()
		th.Publish(run.Thread{Run: runA, Channel: "C1", Slots: slots("root")})
		synctest.Wait()
		log.SetDown(true)
		th.Publish(run.Thread{Run: runA, Channel: "C1", Slots: slots("redis is away", "one")})
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"|redis is away", "1.000000|one"}, s.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTheLastStateIsWrittenOnTheWayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slackFake{takes: time.Second}
		th, _, stop := bench(t, s)
		th.Publish(run.Thread{Run: runA, Channel: "C1", Slots: slots("root")})
		time.Sleep(1500 * time.Millisecond)
		th.Publish(run.Thread{Run: runA, Channel: "C1", Slots: slots("last word"), Final: true})
		stop()
		if diff := cmp.Diff([]string{"|last word"}, s.texts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAFileIsSharedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slackFake{}
		th, _, stop := bench(t, s)
		defer stop()
		sl := slots("root", "one")
		sl[1].Message.File = &board.File{Name: "describe.txt", Body: "x"}
		th.Publish(run.Thread{Run: runA, Channel: "C1", Slots: sl})
		time.Sleep(time.Minute)
		sl = slices.Clone(sl)
		sl[1].Message.Text = "one, edited"
		th.Publish(run.Thread{Run: runA, Channel: "C1", Slots: sl})
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"1.000000 describe.txt"}, s.files); diff != "" {
			t.Error(diff)
		}
	})
}
