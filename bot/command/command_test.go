package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"labbot/bot/lab"
)

var scenarios = []string{"break-image", "reconcile"}

func TestParse(t *testing.T) {
	brk := func(params map[string]string) Command {
		if params == nil {
			params = map[string]string{}
		}
		return Command{Verb: Run, Scenario: "break-image", Params: params}
	}
	for typed, want := range map[string]Command{
		"":                           {Verb: Help},
		"  ":                         {Verb: Help},
		"help":                       {Verb: Help},
		"HELP":                       {Verb: Help},
		"помощь":                     {Verb: Help},
		"?":                          {Verb: Help},
		"list":                       {Verb: List},
		"статус":                     {Verb: Status},
		"stop":                       {Verb: Stop},
		"cleanup":                    {Verb: Cleanup},
		"clean-up":                   {Verb: Cleanup},
		"break-image":                brk(nil),
		"/lab break-image":           brk(nil),
		"run break-image":            brk(nil),
		"Break-Image":                brk(nil),
		"break–image":                brk(nil),
		"break\u2011image":           brk(nil),
		"\u00a0break-image\u00a0":    brk(nil),
		"*break-image*":              brk(nil),
		"`break-image`":              brk(nil),
		"“break-image”":              brk(nil),
		"break\u200b-image":          brk(nil),
		"<@U123|labbot> break-image": brk(nil),
		"break-image replicas=3":     brk(map[string]string{"replicas": "3"}),
		"break-image --replicas 3":   brk(map[string]string{"replicas": "3"}),
		"break-image —replicas=3":    brk(map[string]string{"replicas": "3"}),
		"break-image –-brokenTag=no.such_tag-1": brk(map[string]string{"brokenTag": "no.such_tag-1"}),
		`break-image note="a b"`:                brk(map[string]string{"note": "a b"}),
	} {
		t.Run(typed, func(t *testing.T) {
			got, err := Parse(typed, scenarios)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", typed, diff)
			}
		})
	}
}

func TestParseTeaches(t *testing.T) {
	for typed, want := range map[string]string{
		"brake-image":                  "/lab break-image",
		"break-imgae":                  "/lab break-image",
		"reconsile":                    "/lab reconcile",
		"break":                        "/lab break-image",
		"stauts":                       "/lab status",
		"xyzzy":                        "/lab list",
		"run":                          "/lab break-image",
		"break-image 3":                "name=value",
		"break-image --replicas":       "name=value",
		"break-image a=1 a=2":          "twice",
		`break-image note="a`:          "not closed",
		strings.Repeat("я", 501):       "at most 500",
		"<!channel> " + "zzzzzzzzzzzz": "zzzz",
	} {
		t.Run(typed, func(t *testing.T) {
			_, err := Parse(typed, scenarios)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("Parse(%q) = %v, want an *Error", typed, err)
			}
			if got := e.Reply(lab.EN); !strings.Contains(got, want) {
				t.Errorf("Parse(%q) says %q, want %q in it", typed, got, want)
			}
			if e.Reply(lab.RU) == e.Reply(lab.EN) {
				t.Errorf("Parse(%q): the Russian and the English answer are the same", typed)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"break-image replicas=3", `a="`, "<@U1|x> `help`", "——", "\u200f\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := Parse(s, scenarios)
		if (err == nil) == (c.Verb == "") {
			t.Errorf("Parse(%q) = %+v, %v: want either a verb or an error", s, c, err)
		}
		if err != nil && len([]rune(err.Error())) > 300 {
			t.Errorf("Parse(%q): the answer has %d characters", s, len([]rune(err.Error())))
		}
	})
}
