package engine

import (
	"fmt"
	"path"
	"strings"

	"labbot/bot/lab"
	"labbot/bot/text"
)

func checkCreateDeployment(c *checker, st *step) {
	a, at := st.Args.(*CreateDeploymentArgs), st.path+".createDeployment"
	c.dnsName(a.Name, at+".name")
	c.value(a.Image, at+".image", "string")
	c.value(a.Replicas, at+".replicas", "int")
}

func intentCreateDeployment(w *world, st *step, in *Intent) error {
	a := st.Args.(*CreateDeploymentArgs)
	in.CreateDeployment = &CreateDeployment{
		Name: a.Name, Image: w.resolveString(a.Image), Replicas: w.resolveInt(a.Replicas), Adopt: a.Adopt,
	}
	return nil
}

func titleCreateDeployment(w *world, st *step) lab.Text {
	a := st.Args.(*CreateDeploymentArgs)
	return same(fmt.Sprintf("create deployment %s --image=%s --replicas=%d", a.Name, w.course(a.Image), w.resolveInt(a.Replicas)))
}

func kubectlCreateDeployment(w *world, st *step) string {
	a := st.Args.(*CreateDeploymentArgs)
	return w.kubectl(fmt.Sprintf("create deployment %s --image=%s --replicas=%d", a.Name, w.resolveString(a.Image), w.resolveInt(a.Replicas)))
}

func checkSetImage(c *checker, st *step) {
	a, at := st.Args.(*SetImageArgs), st.path+".setImage"
	c.deployment(a.Of, at+".of")
	c.value(a.Image, at+".image", "string")
}

func intentSetImage(w *world, st *step, in *Intent) error {
	a := st.Args.(*SetImageArgs)
	r := w.reading(a.Of)
	if !r.Known {
		return errNotYet
	}
	if r.Object == nil {
		return gone{w.kindName(a.Of)}
	}
	in.SetImage = &SetImage{Target: w.ref(a.Of), Container: a.Container, Image: w.resolveString(a.Image)}
	return nil
}

// seenSetImage tells whether the Deployment's watch shows the new image. One that
// is gone by now shows all there is to see.
func seenSetImage(w *world, st *step) bool {
	a := st.Args.(*SetImageArgs)
	r := w.reading(a.Of)
	if !r.Known || r.Object == nil {
		return r.Known
	}
	cs := digList(podSpec(r.Object), "containers")
	return a.Container < len(cs) && digString(cs[a.Container], "image") == w.resolveString(a.Image)
}

func titleSetImage(w *world, st *step) lab.Text {
	a := st.Args.(*SetImageArgs)
	return same(fmt.Sprintf("set image %s %s=%s", w.kindName(a.Of), w.container(a), w.course(a.Image)))
}

func kubectlSetImage(w *world, st *step) string {
	a := st.Args.(*SetImageArgs)
	return w.kubectl(fmt.Sprintf("set image %s %s=%s", w.kindName(a.Of), w.container(a), w.resolveString(a.Image)))
}

// container names the container that setImage changes: as the live object has
// it, else as createDeployment will name it, else all ("*").
func (w *world) container(a *SetImageArgs) string {
	if r := w.reading(a.Of); r.Known {
		if cs := digList(podSpec(r.Object), "containers"); a.Container < len(cs) {
			return digString(cs[a.Container], "name")
		}
	}
	for _, st := range w.p.phases[Prepare] {
		if c, ok := st.Args.(*CreateDeploymentArgs); ok && c.Name == w.p.watch(a.Of).Name {
			image, _, _ := strings.Cut(path.Base(w.resolveString(c.Image)), ":")
			return image
		}
	}
	return "*"
}

// course gives an image as the course names it, before any registry mapping.
func (w *world) course(v Value) string {
	s, _ := v.V.(string)
	if name, ok := strings.CutPrefix(s, "$images."); ok {
		if image, known := w.p.sc.Spec.Images[name]; known {
			return w.resolveString(image)
		}
	}
	return w.resolveString(v)
}

func checkRolloutStatus(c *checker, st *step) {
	c.deployment(st.Args.(*RolloutStatusArgs).Of, st.path+".rolloutStatus.of")
}

func decideRollout(w *world, st *step) progress {
	r := w.reading(st.Args.(*RolloutStatusArgs).Of)
	if !r.Known {
		return progress{unknown: true, note: r.Err}
	}
	ro := RolloutOf(r.Object)
	switch {
	case r.Object == nil && st.phase != Prepare:
		return progress{over: true, reason: "NotFound", note: ro.Message}
	case ro.Exceeded:
		return progress{over: true, reason: "ProgressDeadlineExceeded", note: ro.Message}
	}
	return progress{over: ro.Done, note: ro.Message}
}

func titleRolloutStatus(w *world, st *step) lab.Text {
	return same(fmt.Sprintf("rollout status %s --timeout=%s", w.kindName(st.Args.(*RolloutStatusArgs).Of), seconds(st.timeout)))
}

func kubectlRolloutStatus(w *world, st *step) string {
	return w.kubectl(titleRolloutStatus(w, st).EN)
}

func checkChoose(c *checker, st *step) {
	a, at := st.Args.(*ChooseArgs), st.path+".choose"
	c.listWatch(a.From, at+".from")
	st.where = c.exprOver(a.Where, at+".where", st.scope)
}

// decideChoose waits for a live candidate; machine.choose then takes it.
func decideChoose(w *world, st *step) progress {
	_, known := w.candidate(st)
	if known {
		return progress{over: true}
	}
	r := w.reading(st.Args.(*ChooseArgs).From)
	return progress{unknown: !r.Known, note: r.Err}
}

// candidate gives the first object by name that choose may take.
func (w *world) candidate(st *step) (map[string]any, bool) {
	var best map[string]any
	for _, o := range w.reading(st.Args.(*ChooseArgs).From).Items {
		if !isLive(o) || best != nil && nameOf(best) <= nameOf(o) {
			continue
		}
		if st.where != nil {
			if yes, _ := w.truthOf(st.where, o); yes != True {
				continue
			}
		}
		best = o
	}
	return best, best != nil
}

func titleChoose(w *world, st *step) lab.Text {
	return text.Both("scenario.do-choose", "kind", w.p.watch(st.Args.(*ChooseArgs).From).Kind)
}

func checkDeletePod(c *checker, st *step) {
	a, at := st.Args.(*DeletePodArgs), st.path+".deletePod"
	if a.Wait {
		c.problem(at+".wait", text.Both("scenario.wait-only-false"), "")
	}
	c.chosen(a.Pod, at+".pod", st.scope)
}

func intentDeletePod(w *world, st *step, in *Intent) error {
	name := st.Args.(*DeletePodArgs).Pod
	o := w.s.Chosen[name]
	if uidOf(o) == "" {
		return gone{"Pod " + name}
	}
	in.DeletePod = &DeletePod{Target: Ref{APIVersion: "v1", Kind: "Pod", Namespace: w.s.Namespace, Name: nameOf(o), UID: uidOf(o)}}
	return nil
}

func titleDeletePod(w *world, st *step) lab.Text {
	return same("delete pod " + w.chosenName(st.Args.(*DeletePodArgs).Pod) + " --wait=false")
}

func kubectlDeletePod(w *world, st *step) string { return w.kubectl(titleDeletePod(w, st).EN) }

func (w *world) chosenName(name string) string {
	if n := nameOf(w.s.Chosen[name]); n != "" {
		return n
	}
	return "$" + name
}

// undo fills the intent to write a template back from a snapshot.
func (w *world) undo(a *UndoArgs, in *Intent) error {
	t := templateOf(w.s.At[a.To][a.Of])
	if t == nil {
		return gone{fmt.Sprintf("the template of at.%s.%s", a.To, a.Of)}
	}
	t, _ = plain(t).(map[string]any)
	in.Undo = &Undo{Target: w.ref(a.Of), Template: t}
	if in.Undo.Target.UID == "" {
		in.Undo.Target.UID = uidOf(w.s.At[a.To][a.Of])
	}
	return nil
}
