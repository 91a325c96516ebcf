package board

import (
	"strings"
	"testing"

	"labbot/bot/lab"
	"labbot/internal/golden"
)

func TestLines(t *testing.T) {
	for _, lang := range lab.Langs {
		var all []string
		for _, s := range Render(passed(t, lang)) {
			all = append(all, "── "+s.ID)
			all = append(all, Lines(s.Message)...)
		}
		golden.Equal(t, "testdata/terminal."+string(lang)+".golden", strings.Join(all, "\n")+"\n")
	}
}

// TestEveryEmojiHasACharacter finds the codes that messages use.
func TestEveryEmojiHasACharacter(t *testing.T) {
	for name, v := range views(t, lab.RU) {
		for _, s := range messages(v) {
			for i, part := range strings.Split(strings.ReplaceAll(read(s.Message), "```", ""), "`") {
				if i%2 == 1 {
					continue // code
				}
				for _, code := range emojiCode.FindAllString(date.ReplaceAllString(part, ""), -1) {
					if Emoji[code] == "" {
						t.Errorf("%s %s uses %s, which Emoji does not have", name, s.ID, code)
					}
				}
			}
		}
	}
}

func TestLinesLeaveCodeAlone(t *testing.T) {
	p := newPage()
	p.lines("*a* _b_ `*c* _d_ &lt;e&gt; :x:` :x: &amp; <@U0AMIR0001>", "```\n*f* &amp;\n```")
	got := strings.Join(Lines(p.message("x")), "\n")
	if want := "a b *c* _d_ <e> :x: ❌ & @U0AMIR0001\n*f* &"; got != want {
		t.Errorf("Lines = %q, want %q", got, want)
	}
}
