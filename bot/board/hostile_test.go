package board

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/trace"
	"labbot/scenarios/engine"
)

// hostile are texts that a cluster, a scenario or a person may bring along.
var hostile = []string{
	"", " ", "\n\n", "<!channel>", "<!here|x> @channel @everyone", "<@U0AMIR0001> <#C1|x> <https://evil.example|good>",
	"&lt;!channel&gt;", "&", strings.Repeat("&<>", 4000), "`", "```\nrm -rf /\n```", strings.Repeat("`", 5000), "`" + strings.Repeat("a", 2999) + "`",
	"\u202eevil\u202c\u2066x\u2069", "a\u200bb\u200dc\ufeff\u00ad", "\x00\x1b[31mred\x1b[0m\x7f\u0085", "\xff\xfe\xc3", ":smile: a:b:c :tada:",
	"*bold* _it_ ~no~ > quote", "> quote\n&gt;&gt;&gt; all", strings.Repeat("длинно ", 2000), strings.Repeat("🧨", 10000), strings.Repeat("x", 10000),
	strings.Repeat("line\n", 3000), "\u2800\u3164", "javascript:alert(1)", "{{.Secret}} {n} {object}", "\u2028\u2029", "|a|b|", strings.Repeat("é", 6000),
}

// poison writes a text into every field that holds one, but for those that are
// ids and closed lists of the project's own.
type poison struct {
	text func() string
	n    int
}

var kept = map[string]bool{
	"Run": true, "Lang": true, "Phase": true, "Phases": true, "Status": true, "Outcome": true, "Cleaned": true, "Action": true, "Kind": true,
	"Section": true, "Step": true, "ID": true, "Mode": true, "Value": true, "What": true, "Trouble": true, "Key": true, "Also": true, "Button": true,
}

func (p *poison) walk(v reflect.Value, name string) {
	if kept[name] && v.Kind() != reflect.Struct {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(p.text())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			p.walk(v.Elem(), name)
		}
	case reflect.Struct:
		if v.Type().String() == "time.Time" {
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				p.walk(v.Field(i), f.Name)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			p.walk(v.Index(i), name)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			p.walk(e, name)
			v.SetMapIndex(k, e)
		}
	}
}

func (p *poison) view(v View) View {
	v.State.At, v.State.Chosen = nil, nil // not drawn
	for i := range v.State.Moves {
		v.State.Moves[i].Name = fmt.Sprint("move-", i)
	}
	p.walk(reflect.ValueOf(&v).Elem(), "")
	for i := range v.State.Moves { // its name is the slot's id
		v.State.Moves[i].Name = fmt.Sprint("move-", i)
	}
	return v
}

// grown has far more of everything than a lesson has.
func grown(v View) View {
	for range 5 {
		v.Hops = append(v.Hops, v.Hops...)
	}
	v.Hops = v.Hops[:min(len(v.Hops), 200)]
	v.State.Steps = append(v.State.Steps, v.State.Steps...)
	for i := range v.State.Steps {
		v.State.Steps[i].Checks = make([]engine.CheckState, 6)
		v.State.Steps[i].Status = engine.StepFailed
	}
	more := map[string]exhibit.Exhibit{}
	for id, ex := range v.Exhibits {
		for len(ex.Parts) < 40 && len(ex.Parts) > 0 {
			ex.Parts = append(ex.Parts, ex.Parts...)
		}
		more[id] = ex
	}
	v.Exhibits = more
	return v
}

func messages(v View) []Slot {
	slots := Render(v)
	for _, ex := range v.Exhibits {
		slots = append(slots, Slot{ID: "asked/" + ex.Step, Message: Exhibit(v.Lang, ex, v.Title)})
	}
	info := []ScenarioInfo{{ID: v.State.Scenario, Module: v.State.Namespace, Title: v.Title, Minutes: 1, Difficulty: 9}}
	return append(slots,
		Slot{ID: "status", Message: Status(v.Lang, []View{v, v, v})},
		Slot{ID: "help", Message: Help(v.Lang, info)},
		Slot{ID: "list", Message: List(v.Lang, info)},
		Slot{ID: "notice", Message: Notice(v.Lang, "board.do-again", "run", v.Context)},
	)
}

// TestHostileTextIsHarmless draws the fullest state with one hostile text in
// every place, and the other states with all of them by turns: no message may be
// refused and nobody may be mentioned.
func TestHostileTextIsHarmless(t *testing.T) {
	try := func(name, bad string, v View) {
		t.Helper()
		for _, problem := range problems(messages(v)) {
			t.Fatalf("%s with %.40q: %s", name, bad, problem)
		}
	}
	for _, bad := range hostile {
		p := &poison{text: func() string { return bad }}
		try("stuck", bad, p.view(stuck(t, lab.RU)))
	}
	for name, v := range views(t, lab.EN) {
		try(name, "all by turns", byTurns(hostile).view(v))
	}
	for i := range 3 {
		try("grown", hostile[i], byTurns(append(hostile[i*7:], hostile...)).view(grown(stuck(t, lab.EN))))
	}
}

func byTurns(texts []string) *poison {
	p := &poison{}
	p.text = func() string { p.n++; return texts[p.n%len(texts)] }
	return p
}

func FuzzRender(f *testing.F) {
	for i := 0; i < len(hostile); i += 4 {
		f.Add(hostile[i], hostile[(i+7)%len(hostile)])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		v := passed(t, lab.EN)
		if len(a)%2 == 1 {
			v = reconciling(t, lab.RU, true)
		}
		for _, problem := range problems(messages(byTurns([]string{a, b, a + b}).view(v))) {
			t.Error(problem)
		}
	})
}

func FuzzEscape(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 10 + abs(limit)%3000
		for name, got := range map[string]string{"Escape": Escape(s, limit), "Code": Code(s, limit), "Fence": Fence(s, limit)} {
			if n := utf8.RuneCountInString(got); n > limit {
				t.Errorf("%s(%q, %d) has %d characters", name, s, limit, n)
			}
			c := &checker{}
			c.mrkdwn(name, got)
			for _, p := range c.problems {
				t.Error(p)
			}
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}

func TestEscape(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"a<b&c>d", 100, "a&lt;b&amp;c&gt;d"},
		{"<!channel>", 100, "&lt;!channel&gt;"},
		{"hi @channel", 100, "hi ＠channel"},
		{"a\u200bb\u202ec", 100, "abc"},
		{"two\nlines\there", 100, "two lines here"},
		{"exactly ten", 11, "exactly ten"},
		{"one more than that", 11, "one more t…"},
		{"abcdefgh&ijk", 11, "abcdefgh…"}, // no half entity
	} {
		if got := Escape(c.in, c.max); got != c.want {
			t.Errorf("Escape(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
	}
	for got, want := range map[string]string{
		Code("a`b", 20): "`aˋb`", Code(" ", 20): "`–`", Mention("<!channel>"): "`&lt;!channel&gt;`", Mention("U0AMIR0001"): "<@U0AMIR0001>",
		Fence("a\n```\nb", 40): "```\na\nˋˋˋ\nb\n```",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestEveryOutcomeIsDrawn walks through all states that the engine has.
func TestEveryOutcomeIsDrawn(t *testing.T) {
	phases := []engine.Phase{engine.Prepare, engine.Inject, engine.Observe, engine.Fix, engine.Verify, engine.Cleanup, engine.Ended, "", "new"}
	outcomes := []engine.Outcome{"", engine.Passed, engine.PassedWithNote, engine.Failed, engine.TimedOut, engine.Stopped, engine.Infrastructure}
	cleans := []engine.CleanResult{engine.CleanUnknown, engine.Clean, engine.Dirty, engine.CleanNotNeeded}
	for _, phase := range phases {
		for _, outcome := range outcomes {
			for _, clean := range cleans {
				v := View{Run: "r-1", Lang: lab.EN}
				v.State.Phase, v.State.Outcome, v.State.Cleaned = phase, outcome, clean
				for _, p := range problems(Render(v)) {
					t.Errorf("%q %q %q: %s", phase, outcome, clean, p)
				}
			}
		}
	}
}

func TestOneActOfManyPodsIsOneRow(t *testing.T) {
	v := base(lab.EN)
	for i := range 6 {
		v.Hops = append(v.Hops, trace.Hop{Key: fmt.Sprint(i), At: sec(2), Component: trace.Kubelet, What: trace.Ready, Object: fmt.Sprintf("Pod/web-6d4-%d", i), Count: 1})
	}
	rows := v.path()
	want := "`+2 s` *kubelet* Marked Pod `web-6d4-0`, `…1`, `…2`, `…3`, +2 ready for traffic"
	if len(rows) != 2 || rows[1] != want {
		t.Errorf("path = %q, want one row %q", rows, want)
	}
}

// TestNoBlockNeedsRichText keeps to the blocks that chat.update can change into
// one another.
func TestNoBlockNeedsRichText(t *testing.T) {
	for _, s := range messages(passed(t, lab.EN)) {
		for _, b := range s.Message.Blocks {
			if b.BlockType() == slack.MBTRichText {
				t.Errorf("%s has a rich_text block", s.ID)
			}
		}
	}
}
