package exhibit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"labbot/scenarios/engine"
)

// events lists Events in the order of kubectl's --sort-by=.metadata.creationTimestamp.
// With objects named, only Events that regard these or their earlier selves in
// the snapshots are taken.
func (b *builder) events() {
	uids := map[string]bool{}
	for _, o := range b.objects {
		uids[o.uid] = true
	}
	for _, at := range b.st.At {
		for _, name := range b.report.Of {
			for _, o := range kept(at[name]) {
				uids[o.uid] = true
			}
		}
	}
	events := slices.Clone(b.ev.Events)
	slices.SortStableFunc(events, func(a, b engine.Event) int { return a.Created.Compare(b.Created) })
	var lines []Line
	for _, e := range events {
		if len(b.report.Of) > 0 && !uids[e.Regarding.UID] || len(b.report.Reasons) > 0 && !slices.Contains(b.report.Reasons, e.Reason) {
			continue
		}
		lines = append(lines, Line{
			Text: Redact(e.Message), Reason: e.Reason, Component: e.Component, Object: e.Regarding.Kind + "/" + e.Regarding.Name,
			Field: e.Type, At: e.Created, Count: max(1, e.Count), Bad: e.Type == "Warning" || e.Reason == "BackOff",
		})
	}
	if len(lines) > maxLines {
		b.table(lines)
		lines = lines[len(lines)-maxLines:]
	}
	b.add("", Events, lines)
}

func (b *builder) table(lines []Line) {
	w := tabwriter.NewWriter(&b.full, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "CREATED\tTYPE\tREASON\tOBJECT\tFROM\tCOUNT\tMESSAGE")
	for _, l := range lines {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", l.At.UTC().Format("15:04:05"), l.Field, l.Reason, l.Object, l.Component, l.Count, l.Text)
	}
	_ = w.Flush() // into a strings.Builder
}

// history lists revisions as `kubectl rollout history` does, with the image of
// each beside it, which kubectl shows only revision by revision.
func (b *builder) history() {
	all := pick(slices.Sorted(maps.Keys(b.ev.Objects)), b.ev)
	for _, d := range b.objects {
		if d.deploy == nil {
			continue
		}
		lines := map[int]Line{}
		for _, o := range all {
			if o.rs == nil || o.owner == nil || string(o.owner.UID) != d.uid {
				continue
			}
			n, err := strconv.Atoi(revision(o.rs))
			if err != nil {
				continue // not counted yet
			}
			cause := cmp.Or(o.rs.Annotations["kubernetes.io/change-cause"], "<none>")
			lines[n] = Line{Field: strconv.Itoa(n), Reason: cause, Text: images(o.rs.Spec.Template.Spec), Object: o.String(), Component: deploymentController}
		}
		var sorted []Line
		for _, n := range slices.Sorted(maps.Keys(lines)) {
			sorted = append(sorted, lines[n])
		}
		b.add(d.String(), History, sorted)
	}
}

func (b *builder) inFull(o object) bool {
	return len(b.report.Full) == 0 || slices.Contains(b.report.Full, o.uid)
}

// describe shows of kubectl's text the headings that matter and keeps the whole
// for a file.
func (b *builder) describe() {
	for _, o := range b.objects {
		text := b.describes[o.String()]
		switch {
		case text == "" || !b.inFull(o):
			text, bad := inAWord(o)
			b.add(o.String(), Describe, []Line{{Text: text, Bad: bad}})
		default:
			b.add(o.String(), Describe, headings(Redact(text)))
			fmt.Fprintf(&b.full, "# kubectl -n %s describe %s %s\n%s\n\n", b.st.Namespace, strings.ToLower(o.kind), o.name, strings.TrimSpace(text))
		}
	}
}

// shown are the headings of a description that go into the message.
var shown = []string{"Status", "Replicas", "Conditions", "OldReplicaSets", "NewReplicaSet", "Events"}

// headings cuts kubectl's description into its top-level headings and squeezes
// its columns, which are wider than a phone.
func headings(text string) []Line {
	var lines []Line
	heading := ""
	for row := range strings.Lines(text) {
		row = strings.TrimRight(row, " \n")
		if row == "" {
			continue
		}
		if row[0] != ' ' {
			name, value, _ := strings.Cut(row, ":")
			heading = name
			if value = strings.TrimSpace(value); value != "" && slices.Contains(shown, heading) {
				lines = append(lines, Line{Field: heading, Text: squeeze(value)})
			}
			continue
		}
		if slices.Contains(shown, heading) && !rule(row) {
			lines = append(lines, described(heading, row))
		}
		if heading == "Containers" && waitingRow(row) {
			lines = append(lines, Line{Field: heading, Text: squeeze(row), Bad: strings.Contains(row, "Err") || strings.Contains(row, "BackOff")})
		}
	}
	return lines
}

// rule tells the head and the underline of kubectl's tables.
func rule(row string) bool {
	f := strings.Fields(row)
	return strings.HasPrefix(f[0], "--") || f[0] == "Type"
}

func waitingRow(row string) bool {
	row = strings.TrimSpace(row)
	return strings.HasPrefix(row, "State:") || strings.HasPrefix(row, "Reason:") || strings.HasPrefix(row, "Image:")
}

// described reads a row of Events by its columns: type, reason, age, from, message.
func described(heading, row string) Line {
	cols := columns(row)
	if heading != "Events" || len(cols) < 5 {
		return Line{Field: heading, Text: squeeze(row)}
	}
	return Line{
		Field: heading, Reason: cols[1], Component: cols[3], Text: strings.Join(cols[4:], " "),
		Bad: cols[0] == "Warning",
	}
}

func columns(row string) []string {
	var cols []string
	for c := range strings.SplitSeq(strings.TrimSpace(row), "  ") {
		if c = strings.TrimSpace(c); c != "" {
			cols = append(cols, c)
		}
	}
	return cols
}

func squeeze(row string) string { return strings.Join(columns(row), "  ") }
