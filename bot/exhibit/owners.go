package exhibit

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// owners draws the tree of controllers and what they own. Without any pair of
// owner and owned among the objects it names each object's owner instead.
func (b *builder) owners() {
	byUID := map[string]bool{}
	for _, o := range b.objects {
		byUID[o.uid] = true
	}
	children := map[types.UID][]object{}
	var roots []object
	for _, o := range b.objects {
		if o.owner != nil && byUID[string(o.owner.UID)] {
			children[o.owner.UID] = append(children[o.owner.UID], o)
		} else {
			roots = append(roots, o)
		}
	}
	if len(children) == 0 {
		for _, o := range b.objects {
			if o.owner != nil {
				b.add(o.String(), OwnerReferences, []Line{{
					Field: "metadata.ownerReferences", Text: o.owner.Kind + "/" + o.owner.Name,
				}})
			}
		}
		return
	}
	var lines []Line
	for _, root := range roots {
		lines = draw(lines, root, children, "", "", 0)
	}
	b.add("", OwnerReferences, lines)
}

// draw writes one object and what it owns. Four levels are more than the API's
// own controllers make; the bound also ends a forged cycle.
func draw(lines []Line, o object, children map[types.UID][]object, first, rest string, depth int) []Line {
	head, below, bad := describeNode(o)
	lines = append(lines, Line{Text: first + head, Object: o.String(), Field: "metadata.ownerReferences", Bad: bad})
	own := children[types.UID(o.uid)]
	if below != "" {
		bar := "  "
		if len(own) > 0 {
			bar = "│ "
		}
		lines = append(lines, Line{Text: rest + bar + below, Object: o.String(), Bad: bad})
	}
	if depth >= 3 {
		return lines
	}
	for i, child := range own {
		if i == len(own)-1 {
			lines = draw(lines, child, children, rest+"└ ", rest+"  ", depth+1)
		} else {
			lines = draw(lines, child, children, rest+"├ ", rest+"│ ", depth+1)
		}
	}
	return lines
}

// describeNode gives two short rows, as a phone shows about 35 characters.
func describeNode(o object) (head, below string, bad bool) {
	switch {
	case o.deploy != nil:
		return o.String(), fmt.Sprintf("%d/%s available", o.deploy.Status.AvailableReplicas, orOne(o.deploy.Spec.Replicas)), false
	case o.rs != nil:
		bad = o.rs.Spec.Replicas != nil && o.rs.Status.ReadyReplicas < *o.rs.Spec.Replicas
		return "RS " + o.name, fmt.Sprintf("rev %s · %d/%s · %s", revision(o.rs), o.rs.Status.ReadyReplicas, orOne(o.rs.Spec.Replicas), images(o.rs.Spec.Template.Spec)), bad
	case o.pod != nil && o.deleted:
		return "Pod " + o.name, "Terminating", false
	case o.pod != nil && trouble(o.pod) != "":
		return "Pod " + o.name, trouble(o.pod), true
	case o.pod != nil && podReady(o.pod):
		return "Pod " + o.name + " ✓", "", false
	case o.pod != nil:
		return "Pod " + o.name, string(o.pod.Status.Phase), false
	}
	return o.String(), "", false
}

// inAWord says in a few words how an object is.
func inAWord(o object) (text string, bad bool) {
	_, below, bad := describeNode(o)
	if below == "" && o.pod != nil {
		return "Ready", bad
	}
	return cmp.Or(below, "–"), bad
}

// compare sets the objects side by side with the snapshot, by UID: the same name
// may be another object, and another name is another object always.
func (b *builder) compare() {
	snapshot := b.st.At[b.report.Compare]
	var lines []Line
	for _, name := range b.report.Of {
		if _, ok := snapshot[name]; !ok {
			continue
		}
		now := map[string]bool{}
		current := pick([]string{name}, b.ev)
		for _, o := range current {
			now[o.uid] = true
		}
		before := map[string]bool{}
		for _, o := range kept(snapshot[name]) {
			before[o.uid] = true
			if now[o.uid] {
				lines = append(lines, compared(o, Same))
			} else {
				lines = append(lines, compared(o, Gone))
			}
		}
		for _, o := range current {
			if !before[o.uid] {
				lines = append(lines, compared(o, New))
			}
		}
	}
	b.add("", Compare, lines)
}

func compared(o object, reason string) Line {
	l := Line{Object: o.String(), Field: "metadata.uid", Text: o.uid, Reason: reason}
	if reason == New && o.owner != nil && o.owner.Kind == "ReplicaSet" {
		l.Component = replicaSetController
	}
	return l
}
