package runtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/bot/trace"
	"labbot/scenarios/engine"
)

// ttl is long against the time that a test takes, short is over at once.
const (
	ttl   = time.Minute
	short = 30 * time.Millisecond
)

// TestLog checks what every run.Log promises. open gives an empty log, whose
// clock is the real one.
func TestLog(t *testing.T, open func(t *testing.T) run.Log) {
	for name, check := range map[string]func(*testing.T, run.Log){
		"a record comes back as it was":                roundTrip,
		"create is once":                               createOnce,
		"only one of many claims wins":                 claimRace,
		"a claim holds until it runs out":              claimHeld,
		"another boot of an instance takes its claims": claimReboot,
		"a lost claim cannot be renewed or committed":  fence,
		"a commit is one change":                       commitWhole,
		"the same commit twice counts once":            commitTwice,
		"inputs count once and wait for a step":        inputs,
		"release and close":                            releaseAndClose,
		"due and active":                               dueAndActive,
		"turns in a namespace":                         turns,
		"a place in line is never given twice":         turnsRace,
		"the newest runs of a channel":                 latest,
		"a message is begun once and keeps its ts":     postings,
		"unknown runs":                                 unknown,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// Sample is a record with something in every field.
func Sample(id lab.RunID) run.Record {
	at := time.Date(2031, 3, 4, 10, 0, 0, 123e6, time.UTC)
	return run.Record{
		ID: id, Cohort: "k8s-1", Channel: "C0COHORT01", Lang: lab.RU, StartedBy: "U0STUDENT1",
		CommandAt: at, Cluster: "lab", Params: map[string]string{"replicas": "2"},
		State: engine.State{
			Run: id, Scenario: "break-image", Version: 1, Namespace: "k8s-m01", StartedAt: at,
			Phase: engine.Prepare, PhaseStarted: at, Params: map[string]any{"replicas": int64(2)},
			Why: lab.Text{RU: "причина", EN: "reason"},
		},
		Hops:     []trace.Hop{{Key: "a", At: at, Component: trace.Scheduler, What: "scheduled", Count: 1}},
		Exhibits: map[string]exhibit.Exhibit{"objects": {Step: "objects", Kind: "evidence", At: at, Full: "text\nмного"}},
	}
}

func put(t *testing.T, l run.Log, r run.Record) run.Record {
	t.Helper()
	if err := l.Create(t.Context(), r); err != nil {
		t.Fatalf("Create(%s): %v", r.ID, err)
	}
	got, err := l.Load(t.Context(), r.ID)
	if err != nil {
		t.Fatalf("Load(%s): %v", r.ID, err)
	}
	return got
}

func claim(t *testing.T, l run.Log, id lab.RunID, owner string) run.Record {
	t.Helper()
	r, err := l.Claim(t.Context(), id, -1, owner, ttl)
	if err != nil {
		t.Fatalf("Claim(%s, %s): %v", id, owner, err)
	}
	return r
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// eventually repeats try until it is true; the real clock has to move for it.
func eventually(t *testing.T, what string, try func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !try() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within 10 s", what)
		case <-tick.C:
		}
	}
}

func roundTrip(t *testing.T, l run.Log) {
	want := Sample("r-one")
	got := put(t, l, want)
	want.Ver = 1
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("Load after Create (-want +got):\n%s", d)
	}
}

func createOnce(t *testing.T, l run.Log) {
	r := Sample("r-one")
	put(t, l, r)
	if err := l.Create(t.Context(), r); err != nil {
		t.Errorf("the same record again: %v, want nil: a repeated write is no error", err)
	}
	r.StartedBy = "U0OTHER"
	wantErr(t, "another record of that id", l.Create(t.Context(), r), run.ErrExists)
	claim(t, l, r.ID, "a/1")
	wantErr(t, "after a claim", l.Create(t.Context(), Sample("r-one")), run.ErrExists)
}

func claimRace(t *testing.T, l run.Log) {
	r := put(t, l, Sample("r-one"))
	const n = 16
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { _, errs[i] = l.Claim(t.Context(), r.ID, r.Ver, fmt.Sprintf("o%d/1", i), ttl) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, run.ErrLost) && !errors.Is(err, run.ErrHeld) {
			t.Errorf("loser got %v, want ErrLost or ErrHeld", err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d claims won, want 1", won, n)
	}
	if got, _ := l.Load(t.Context(), r.ID); got.Ver != r.Ver+1 {
		t.Errorf("ver = %d, want %d: raised once", got.Ver, r.Ver+1)
	}
}

func claimHeld(t *testing.T, l run.Log) {
	r := put(t, l, Sample("r-one"))
	if _, err := l.Claim(t.Context(), r.ID, r.Ver, "a/1", short); err != nil {
		t.Fatal(err)
	}
	long, err := l.Claim(t.Context(), r.ID, -1, "a/1", ttl)
	if err != nil {
		t.Fatalf("the owner again: %v", err)
	}
	_, err = l.Claim(t.Context(), r.ID, long.Ver, "b/1", ttl)
	wantErr(t, "while it lasts", err, run.ErrHeld)
	if _, err := l.Renew(t.Context(), r.ID, "a/1", short); err != nil {
		t.Fatal(err)
	}
	eventually(t, "take-over after the claim has run out", func() bool {
		_, err := l.Claim(t.Context(), r.ID, -1, "b/1", ttl)
		return err == nil
	})
}

func claimReboot(t *testing.T, l run.Log) {
	put(t, l, Sample("r-one"))
	claim(t, l, "r-one", "pod-1/first")
	_, err := l.Claim(t.Context(), "r-one", -1, "pod-10/second", ttl)
	wantErr(t, "another instance", err, run.ErrHeld)
	claim(t, l, "r-one", "pod-1/second")
	_, err = l.Renew(t.Context(), "r-one", "pod-1/first", ttl)
	wantErr(t, "the first boot", err, run.ErrLost)
}

func fence(t *testing.T, l run.Log) {
	put(t, l, Sample("r-one"))
	old := claim(t, l, "r-one", "a/1")
	if _, err := l.Renew(t.Context(), "r-one", "a/1", short); err != nil {
		t.Fatal(err)
	}
	var now run.Record
	eventually(t, "take-over", func() (ok bool) {
		var err error
		now, err = l.Claim(t.Context(), "r-one", -1, "b/1", ttl)
		return err == nil
	})
	_, err := l.Renew(t.Context(), "r-one", "a/1", ttl)
	wantErr(t, "Renew by the old owner", err, run.ErrLost)
	pos := 7
	_, err = l.Commit(t.Context(), "r-one", old.Ver, run.Change{Position: &pos})
	wantErr(t, "Commit by the old owner", err, run.ErrLost)
	if got, _ := l.Load(t.Context(), "r-one"); got.Position != 0 || got.Ver != now.Ver {
		t.Errorf("the lost commit changed the record: position %d, ver %d", got.Position, got.Ver)
	}
}

func commitWhole(t *testing.T, l run.Log) {
	put(t, l, Sample("r-one"))
	r := claim(t, l, "r-one", "a/1")
	st := r.State
	st.Phase, st.NamespaceUID = engine.Inject, "uid-1"
	at := st.StartedAt.Add(time.Second)
	change := run.Change{
		State:    &st,
		Hops:     append(r.Hops, trace.Hop{Key: "b", At: at}),
		Exhibits: map[string]exhibit.Exhibit{"events": {Step: "events"}},
		Facts:    []engine.Fact{{At: at, Kind: engine.FactPhase, Name: "inject"}, {At: at, Kind: engine.FactIntent}},
	}
	ver, err := l.Commit(t.Context(), "r-one", r.Ver, change)
	if err != nil || ver != r.Ver+1 {
		t.Fatalf("Commit = %d, %v, want %d", ver, err, r.Ver+1)
	}
	got, err := l.Load(t.Context(), "r-one")
	if err != nil {
		t.Fatal(err)
	}
	want := r
	want.Ver, want.State, want.Hops, want.ClaimUntil = ver, st, change.Hops, got.ClaimUntil
	want.Exhibits = map[string]exhibit.Exhibit{"objects": r.Exhibits["objects"], "events": {Step: "events"}}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("after Commit (-want +got):\n%s", d)
	}
	facts, err := l.Facts(t.Context(), "r-one")
	if d := cmp.Diff(change.Facts, facts); d != "" || err != nil {
		t.Errorf("Facts: %v (-want +got):\n%s", err, d)
	}
}

func commitTwice(t *testing.T, l run.Log) {
	put(t, l, Sample("r-one"))
	r := claim(t, l, "r-one", "a/1")
	c := run.Change{State: &r.State, Facts: []engine.Fact{{Kind: engine.FactPhase, At: r.CommandAt}}}
	first, err := l.Commit(t.Context(), "r-one", r.Ver, c)
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.Commit(t.Context(), "r-one", r.Ver, c)
	if err != nil || again != first {
		t.Errorf("the same commit again = %d, %v, want %d: its reply may have been lost", again, err, first)
	}
	if facts, _ := l.Facts(t.Context(), "r-one"); len(facts) != 1 {
		t.Errorf("%d facts, want 1", len(facts))
	}
	c.Facts = nil
	_, err = l.Commit(t.Context(), "r-one", r.Ver, c)
	wantErr(t, "another commit for the old version", err, run.ErrLost)
}

func inputs(t *testing.T, l run.Log) {
	put(t, l, Sample("r-one"))
	r := claim(t, l, "r-one", "a/1")
	at := r.CommandAt.Add(time.Minute)
	one := engine.Input{ID: "i1", Kind: engine.InputButton, Button: "rollback", By: "U1", At: at}
	two := engine.Input{ID: "i2", Kind: engine.InputHint, By: "U2", At: at}
	for _, in := range []engine.Input{one, one, two, one} {
		b, err := l.PushInput(t.Context(), "r-one", in)
		if err != nil || b.Owner != "a/1" || b.Ver != r.Ver || b.Cluster != "lab" || b.Channel != r.Channel {
			t.Fatalf("PushInput = %+v, %v, want owner a/1, ver %d", b, err, r.Ver)
		}
	}
	got, err := l.Renew(t.Context(), "r-one", "a/1", ttl)
	if d := cmp.Diff([]engine.Input{one, two}, got); d != "" || err != nil {
		t.Errorf("waiting inputs: %v (-want +got):\n%s", err, d)
	}
	if _, err := l.Commit(t.Context(), "r-one", r.Ver, run.Change{Consumed: []string{"i1"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.PushInput(t.Context(), "r-one", one); err != nil {
		t.Errorf("a taken input again: %v, want nil", err)
	}
	after, err := l.Load(t.Context(), "r-one")
	if d := cmp.Diff([]engine.Input{two}, after.Inputs); d != "" || err != nil {
		t.Errorf("after the step: %v (-want +got):\n%s", err, d)
	}
}

func releaseAndClose(t *testing.T, l run.Log) {
	put(t, l, Sample("r-one"))
	r := claim(t, l, "r-one", "a/1")
	ver, err := l.Commit(t.Context(), "r-one", r.Ver, run.Change{Release: true})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := l.PushInput(t.Context(), "r-one", engine.Input{ID: "i1", At: r.CommandAt}); err != nil || b.Owner != "" {
		t.Errorf("after Release: owner %q, %v, want none", b.Owner, err)
	}
	if r, err = l.Claim(t.Context(), "r-one", ver, "b/1", ttl); err != nil {
		t.Fatalf("Claim of a released run: %v", err)
	}
	if _, err := l.Commit(t.Context(), "r-one", r.Ver, run.Change{Close: true}); err != nil {
		t.Fatal(err)
	}
	_, err = l.Claim(t.Context(), "r-one", -1, "b/1", ttl)
	wantErr(t, "Claim of a closed run", err, run.ErrClosed)
	_, err = l.Renew(t.Context(), "r-one", "b/1", ttl)
	wantErr(t, "Renew of a closed run", err, run.ErrClosed)
	_, err = l.PushInput(t.Context(), "r-one", engine.Input{ID: "i9", At: r.CommandAt})
	wantErr(t, "PushInput to a closed run", err, run.ErrClosed)
	got, err := l.Load(t.Context(), "r-one")
	if err != nil || !got.Closed {
		t.Errorf("Load of a closed run: closed %t, %v; it must stay readable", got.Closed, err)
	}
}

func dueAndActive(t *testing.T, l run.Log) {
	early, late, other := Sample("r-early"), Sample("r-late"), Sample("r-other")
	late.CommandAt = early.CommandAt.Add(time.Hour)
	other.Cluster = "second"
	for _, r := range []run.Record{late, early, other} {
		put(t, l, r)
	}
	ids := func(bs []run.Brief, err error) (out []lab.RunID) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range bs {
			out = append(out, b.ID)
		}
		return out
	}
	if d := cmp.Diff([]lab.RunID{"r-early", "r-late"}, ids(l.Active(t.Context(), "lab"))); d != "" {
		t.Errorf("Active (-want +got):\n%s", d)
	}
	if n := len(ids(l.Due(t.Context()))); n != 3 {
		t.Errorf("%d runs due, want all 3: nobody holds them", n)
	}
	r := claim(t, l, "r-early", "a/1")
	claim(t, l, "r-other", "a/1")
	if d := cmp.Diff([]lab.RunID{"r-late"}, ids(l.Due(t.Context()))); d != "" {
		t.Errorf("Due with two claims (-want +got):\n%s", d)
	}
	if _, err := l.Renew(t.Context(), "r-early", "a/1", short); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an overdue claim is due", func() bool { return len(ids(l.Due(t.Context()))) == 2 })
	if _, err := l.Commit(t.Context(), "r-early", r.Ver, run.Change{Close: true}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]lab.RunID{"r-late"}, ids(l.Active(t.Context(), "lab"))); d != "" {
		t.Errorf("Active after Close (-want +got):\n%s", d)
	}
}

func turns(t *testing.T, l run.Log) {
	enter := func(id lab.RunID, want int) {
		t.Helper()
		if got, err := l.Enter(t.Context(), "lab", "k8s-m01", id); err != nil || got != want {
			t.Errorf("Enter(%s) = %d, %v, want %d", id, got, err, want)
		}
	}
	leave := func(id, want lab.RunID) {
		t.Helper()
		if got, err := l.Leave(t.Context(), "lab", "k8s-m01", id); err != nil || got != want {
			t.Errorf("Leave(%s) = %q, %v, want %q", id, got, err, want)
		}
	}
	enter("r-a", 0)
	enter("r-b", 1)
	enter("r-c", 2)
	enter("r-b", 1)
	if got, err := l.Enter(t.Context(), "other", "k8s-m01", "r-x"); err != nil || got != 0 {
		t.Errorf("another cluster: %d, %v, want 0", got, err)
	}
	leave("r-b", "r-a")
	enter("r-c", 1)
	leave("r-a", "r-c")
	leave("r-a", "r-c")
	leave("r-c", "")
	for i := range 20 {
		enter(lab.RunID(fmt.Sprintf("r-%d", i)), i)
	}
	_, err := l.Enter(t.Context(), "lab", "k8s-m01", "r-more")
	wantErr(t, "the 21st", err, run.ErrFull)
}

func turnsRace(t *testing.T, l run.Log) {
	const n = 10
	places := make([]int, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			p, err := l.Enter(t.Context(), "lab", "ns", lab.RunID(fmt.Sprintf("r-%d", i)))
			if err != nil {
				t.Error(err)
			}
			places[i] = p
		})
	}
	wg.Wait()
	seen := map[int]bool{}
	for _, p := range places {
		if seen[p] || p < 0 || p >= n {
			t.Fatalf("places %v, want each of 0 to %d once", places, n-1)
		}
		seen[p] = true
	}
}

func latest(t *testing.T, l run.Log) {
	at := Sample("x").CommandAt
	for i, id := range []lab.RunID{"r-1", "r-2", "r-3"} {
		r := Sample(id)
		r.CommandAt = at.Add(time.Duration(i) * time.Minute)
		put(t, l, r)
	}
	other := Sample("r-4")
	other.Channel = "C0OTHER"
	put(t, l, other)
	got, err := l.Latest(t.Context(), "C0COHORT01", 2)
	if d := cmp.Diff([]lab.RunID{"r-3", "r-2"}, got); d != "" || err != nil {
		t.Errorf("Latest: %v (-want +got):\n%s", err, d)
	}
}

func postings(t *testing.T, l run.Log) {
	put(t, l, Sample("r-one"))
	first, err := l.BeginPost(t.Context(), "r-one", run.RootSlot)
	if err != nil || first.Begun() {
		t.Fatalf("first BeginPost = %+v, %v, want not begun", first, err)
	}
	again, err := l.BeginPost(t.Context(), "r-one", run.RootSlot)
	if err != nil || !again.Begun() || again.TS != "" {
		t.Fatalf("second BeginPost = %+v, %v, want begun without a ts", again, err)
	}
	_, err = l.InThread(t.Context(), "C0COHORT01", "1.0001")
	wantErr(t, "InThread before the post", err, run.ErrNotFound)
	end := func(slot string, ts lab.TS, hash string, wantTS lab.TS, wantHash string) {
		t.Helper()
		p, err := l.EndPost(t.Context(), "r-one", slot, ts, hash)
		if err != nil || p.TS != wantTS || p.Hash != wantHash {
			t.Errorf("EndPost(%s, %s, %s) = %+v, %v, want ts %s, hash %s", slot, ts, hash, p, err, wantTS, wantHash)
		}
	}
	end(run.RootSlot, "1.0001", "h1", "1.0001", "h1")
	end(run.RootSlot, "1.0001", "h2", "1.0001", "h2")
	end(run.RootSlot, "1.0002", "h3", "1.0001", "h2")
	end("objects", "1.0003", "h1", "1.0003", "h1")
	id, err := l.InThread(t.Context(), "C0COHORT01", "1.0001")
	if err != nil || id != "r-one" {
		t.Errorf("InThread = %s, %v, want r-one", id, err)
	}
	slots, err := l.Slots(t.Context(), "r-one")
	if err != nil || len(slots) != 2 || slots["objects"].TS != "1.0003" || !slots[run.RootSlot].Begun() {
		t.Errorf("Slots = %+v, %v", slots, err)
	}
}

func unknown(t *testing.T, l run.Log) {
	ctx := t.Context()
	_, err := l.Load(ctx, "r-none")
	wantErr(t, "Load", err, run.ErrNotFound)
	_, err = l.Claim(ctx, "r-none", -1, "a/1", ttl)
	wantErr(t, "Claim", err, run.ErrNotFound)
	_, err = l.Renew(ctx, "r-none", "a/1", ttl)
	wantErr(t, "Renew", err, run.ErrNotFound)
	_, err = l.Commit(ctx, "r-none", 1, run.Change{})
	wantErr(t, "Commit", err, run.ErrNotFound)
	_, err = l.PushInput(ctx, "r-none", engine.Input{ID: "i"})
	wantErr(t, "PushInput", err, run.ErrNotFound)
	_, err = l.BeginPost(ctx, "r-none", "board")
	wantErr(t, "BeginPost", err, run.ErrNotFound)
	_, err = l.EndPost(ctx, "r-none", "board", "1.0", "h")
	wantErr(t, "EndPost", err, run.ErrNotFound)
}
