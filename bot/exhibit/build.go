package exhibit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"labbot/scenarios/engine"
)

// Bounds of one exhibit, so that a run's record stays small whatever the
// cluster holds. Characters are runes; maxFull is bytes.
const (
	maxParts = 60
	maxLines = 40
	maxText  = 1000
	maxFull  = 48 << 10
)

// Build makes the exhibit of a report from one reading of the cluster.
//
// describes holds kubectl's description of an object under "Kind/name", and the
// last log lines of a Pod under "logs Pod/name". Show may be empty, which means
// everything that the kind of report has.
func Build(step string, kind engine.ActionKind, r engine.Report, ev engine.Evidence, st engine.State, describes map[string]string, at time.Time) Exhibit {
	b := builder{report: r, ev: ev, st: st, describes: describes, objects: pick(r.Of, ev)}
	ex := Exhibit{Step: step, Kind: string(kind), At: at}
	switch kind {
	case engine.ActDescribe:
		b.describe()
	case engine.ActEvents:
		b.events()
	case engine.ActRolloutHistory:
		b.history()
	default:
		b.evidence()
	}
	ex.Kubectl = b.kubectl(kind)
	ex.Parts, ex.Full = bound(b.parts), cutBytes(Redact(b.full.String()), maxFull)
	return ex
}

type builder struct {
	report    engine.Report
	ev        engine.Evidence
	st        engine.State
	describes map[string]string
	objects   []object
	parts     []Part
	full      strings.Builder
}

func (b *builder) shows(section string) bool {
	return len(b.report.Show) == 0 || slices.Contains(b.report.Show, section)
}

func (b *builder) add(object, section string, lines []Line) {
	if len(lines) > 0 {
		b.parts = append(b.parts, Part{Object: object, Section: section, Lines: lines})
	}
}

// evidence keeps the teaching order: first what is wanted and what is, object by
// object, then who owns whom, then what was told, then logs.
func (b *builder) evidence() {
	if b.report.Compare != "" {
		b.compare()
	}
	for _, o := range b.objects {
		s := sectionsOf(o)
		for _, section := range []string{Spec, Status, Conditions} {
			if b.shows(section) {
				b.add(o.String(), section, s[section])
			}
		}
	}
	if b.shows(OwnerReferences) {
		b.owners()
	}
	if slices.Contains(b.report.Show, Events) { // a step of its own unless asked for
		b.events()
	}
	if b.shows(Logs) {
		for _, o := range b.objects {
			if log := b.describes["logs "+o.String()]; log != "" {
				b.add(o.String(), Logs, logLines(log))
			}
		}
	}
}

// logLines keeps the end, as the end tells why a process died.
func logLines(log string) []Line {
	log = Redact(log) // whole, as a private key has many lines
	rows := strings.Split(strings.TrimRight(log, "\n"), "\n")
	rows = rows[max(0, len(rows)-20):]
	lines := make([]Line, 0, len(rows))
	for _, row := range rows {
		lines = append(lines, Line{Text: row, Component: kubelet})
	}
	return lines
}

func (b *builder) kubectl(kind engine.ActionKind) []string {
	k := "kubectl -n " + b.st.Namespace + " "
	switch kind {
	case engine.ActEvents:
		return []string{k + "get events --sort-by=.metadata.creationTimestamp"}
	case engine.ActRolloutHistory:
		return b.perObject(func(o object) string { return k + "rollout history " + strings.ToLower(o.String()) })
	case engine.ActDescribe:
		return b.perObject(func(o object) string {
			if !b.inFull(o) {
				return ""
			}
			return k + "describe " + strings.ToLower(o.kind) + " " + o.name
		})
	}
	var kinds []string
	for _, o := range b.objects {
		if kind := strings.ToLower(o.kind); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	return []string{k + "get " + strings.Join(kinds, ",") + " -o yaml"}
}

func (b *builder) perObject(line func(object) string) []string {
	var lines []string
	for _, o := range b.objects {
		if l := line(o); l != "" && len(lines) < 5 {
			lines = append(lines, l)
		}
	}
	return lines
}

func bound(parts []Part) []Part {
	if len(parts) > maxParts {
		parts = parts[:maxParts]
	}
	for i := range parts {
		if n := len(parts[i].Lines); n > maxLines {
			rest := Line{Text: fmt.Sprintf("… +%d", n-maxLines+1)}
			parts[i].Lines = append(slices.Clone(parts[i].Lines[:maxLines-1]), rest)
		}
		for j := range parts[i].Lines {
			parts[i].Lines[j].Text = cut(parts[i].Lines[j].Text, maxText)
			parts[i].Lines[j].Message = cut(parts[i].Lines[j].Message, maxText)
		}
	}
	return parts
}

func cut(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

func cutBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "\n…\n"
}
