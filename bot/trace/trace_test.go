package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"labbot/bot/text"
	"labbot/internal/golden"
	"labbot/scenarios/engine"
)

// command is when the run was asked for, a moment after the API's last tick.
var command = time.Date(2026, 3, 4, 10, 0, 0, 400e6, time.UTC)

func load(t testing.TB, name string) engine.Evidence {
	return golden.Load[engine.Evidence](t, "testdata/"+name+".json")
}

func baseline(t testing.TB) engine.State {
	at := map[string]any{"deploy": load(t, "healthy").Objects["deploy"].Object}
	return engine.State{At: map[string]map[string]any{"baseline": at}}
}

func show(hops []Hop) string {
	var b strings.Builder
	for _, h := range hops {
		mark := " "
		if h.Bad {
			mark = "!"
		}
		fmt.Fprintf(&b, "%s +%-3d %-21s %-18s %s", mark, int(Delta(command, h.At).Seconds()), h.Component, h.What, h.Object)
		for _, s := range []string{h.Detail, "by " + h.By} {
			if s != "" && s != "by " {
				fmt.Fprintf(&b, " | %s", s)
			}
		}
		if h.Count > 1 {
			fmt.Fprintf(&b, " ×%d", h.Count)
		}
		fmt.Fprintf(&b, " [%s]\n", h.Source)
	}
	return b.String()
}

func TestHopsOfBreakImage(t *testing.T) {
	st := baseline(t)
	var hops []Hop
	for _, name := range []string{"healthy", "broken", "restored"} {
		hops = Merge(hops, Hops(st, load(t, name), command))
		golden.Equal(t, "testdata/"+name+".hops.golden", show(hops))
	}
}

func TestHopsOfReconcile(t *testing.T) {
	var hops []Hop
	for _, name := range []string{"healthy", "replacing", "replaced"} {
		hops = Merge(hops, Hops(engine.State{}, load(t, name), command))
	}
	golden.Equal(t, "testdata/reconcile.hops.golden", show(hops))
}

// TestMergeIsStable reads the same evidence again and again, as each informer
// event does: nothing may be added and no time may move.
func TestMergeIsStable(t *testing.T) {
	st := baseline(t)
	once := Merge(nil, Hops(st, load(t, "broken"), command))
	again := Merge(once, Hops(st, load(t, "broken"), command))
	if diff := cmp.Diff(once, again); diff != "" {
		t.Errorf("a second reading changed the trace (-once +again):\n%s", diff)
	}
}

// TestEventsMayComeInAnyOrder deletes objects or Events from one reading, as
// watches of different kinds are not in step: the end is the same.
func TestEventsMayComeInAnyOrder(t *testing.T) {
	full := load(t, "broken")
	objects, events := full, full
	objects.Events = nil
	events.Objects = nil
	st := baseline(t)
	keys := func(readings ...engine.Evidence) []string {
		var hops []Hop
		for _, ev := range readings {
			hops = Merge(hops, Hops(st, ev, command))
		}
		var all []string
		for _, h := range hops {
			all = append(all, h.What+" "+h.Object)
		}
		slices.Sort(all)
		return all
	}
	want := keys(full)
	for name, got := range map[string][]string{
		"objects first": keys(objects, full),
		"events first":  keys(events, full),
		"objects gone":  keys(full, events),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRepeatedEventIsOneHop(t *testing.T) {
	ev := load(t, "broken")
	before := Merge(nil, Hops(engine.State{}, ev, command))
	ev.Events = slices.Clone(ev.Events)
	for i := range ev.Events {
		if ev.Events[i].Reason == "BackOff" {
			ev.Events[i].Count = 17
		}
	}
	after := Merge(before, Hops(engine.State{}, ev, command))
	if len(after) != len(before) {
		t.Fatalf("%d hops after the repeat, want %d", len(after), len(before))
	}
	i := slices.IndexFunc(after, func(h Hop) bool { return h.What == BackOff })
	if after[i].Count != 17 || !after[i].At.Equal(before[i].At) {
		t.Errorf("back-off: ×%d at %v, want ×17 at %v", after[i].Count, after[i].At, before[i].At)
	}
}

func TestDelta(t *testing.T) {
	for at, want := range map[time.Time]time.Duration{
		command.Truncate(time.Second):                      0, // the API cut the fraction
		command.Add(-5 * time.Second):                      0,
		command.Add(700 * time.Millisecond):                time.Second,
		command.Truncate(time.Second).Add(3 * time.Second): 3 * time.Second,
	} {
		if got := Delta(command, at); got != want {
			t.Errorf("Delta(%v) = %v, want %v", at, got, want)
		}
	}
}

func TestHopsBeforeTheCommandAreLeftOut(t *testing.T) {
	hops := Hops(engine.State{}, load(t, "broken"), command.Add(4*time.Second))
	for _, h := range hops {
		if h.At.Before(command.Truncate(time.Second).Add(4 * time.Second)) {
			t.Errorf("%s at %v is older than the command", h.Key, h.At)
		}
	}
	if len(hops) == 0 {
		t.Error("no hops at all")
	}
}

func TestMergeIsBounded(t *testing.T) {
	var many []Hop
	for i := range 3 * maxHops {
		many = append(many, Hop{Key: fmt.Sprint(i), At: command.Add(time.Duration(i) * time.Second), What: Warned})
	}
	got := Merge(many[:250], many[250:])
	if len(got) != maxHops || got[len(got)-1].Key != many[len(many)-1].Key {
		t.Errorf("Merge kept %d hops up to %s, want the newest %d", len(got), got[len(got)-1].Key, maxHops)
	}
}

func TestHostileObjectsAreNotRead(t *testing.T) {
	ev := engine.Evidence{Objects: map[string]engine.Reading{
		"a": {Known: true, Object: map[string]any{"kind": "Deployment", "spec": "x"}},
		"b": {Known: true, List: true, Items: []map[string]any{nil, {"kind": "Pod", "metadata": 7}, {"kind": 3}}},
	}, Events: []engine.Event{{Reason: "ScalingReplicaSet"}, {Reason: "SuccessfulCreate"}, {Reason: "Failed", Regarding: engine.Ref{Kind: "Pod"}}}}
	if got := Hops(engine.State{}, ev, command); len(got) != 0 {
		t.Errorf("Hops = %v, want none: nothing in it has a time", got)
	}
}

func TestEveryActHasAText(t *testing.T) {
	for _, what := range Acts {
		if !text.Has("trace." + what) {
			t.Errorf("the catalogue has no %q", "trace."+what)
		}
	}
}
