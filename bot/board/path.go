package board

import (
	"strings"

	"labbot/bot/text"
	"labbot/bot/trace"
)

// shownHops is how many lines of the trace the board has room for.
const shownHops = 8

// path is the live trace: the newest acts, those of one component in one second
// on one line.
func (v View) path() []string {
	var rows [][]trace.Hop
	for _, h := range v.Hops {
		if n := len(rows); n > 0 && together(rows[n-1][0], h) {
			rows[n-1] = append(rows[n-1], h)
		} else {
			rows = append(rows, []trace.Hop{h})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	l := []string{"*" + text.T(v.Lang, "board.who-did-what") + "* · " + text.T(v.Lang, "board.delta-from")}
	if hidden := len(rows) - shownHops; hidden > 0 {
		l = append(l, "_"+text.N(v.Lang, "board.earlier", hidden)+"_")
		rows = rows[hidden:]
	}
	named := map[string]bool{}
	for _, row := range rows {
		l = append(l, v.hops(row, named))
	}
	return l
}

func together(a, b trace.Hop) bool {
	return a.What == b.What && a.Component == b.Component && a.At.Equal(b.At) && a.Bad == b.Bad && a.Count == b.Count &&
		(a.Detail == b.Detail || a.What == trace.CreatedPod)
}

// hops writes one row: `+3 s` *kubelet* what was done. named holds the objects
// that stand in full in an earlier row.
func (v View) hops(row []trace.Hop, named map[string]bool) string {
	h := row[0]
	line := Code("+"+span(v.Lang, v.zero(), h.At), 20) + " *" + Escape(string(h.Component), 40) + "* "
	if h.Bad {
		line += ":x: "
	}
	line += text.T(v.Lang, "trace."+h.What, "object", names(row, named), "detail", Code(h.Detail, 90))
	if h.By != "" {
		line += " ← " + Code(h.By, 40)
	}
	if h.Count > 1 {
		line += " *×" + count(h.Count) + "*"
	}
	return line
}

// names lists the objects of a row. The end of a Pod's name tells enough from
// the second in a row on, and where the whole name stands above.
func names(row []trace.Hop, named map[string]bool) string {
	var all []string
	for i, h := range row {
		if i == 4 {
			all = append(all, "+"+count(len(row)-i))
			break
		}
		kind, name, _ := strings.Cut(h.Object, "/")
		if kind == "Pod" && (i > 0 || named[name]) {
			name = ellipsis + name[strings.LastIndex(name, "-")+1:]
		}
		named[name] = true
		all = append(all, Code(name, 80))
	}
	return strings.Join(all, ", ")
}
