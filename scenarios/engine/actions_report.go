package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"labbot/bot/lab"
	"labbot/bot/text"
)

func checkEvidence(c *checker, st *step) {
	c.evidence(st.Args.(*EvidenceArgs), st.path+".evidence", st.scope)
}

func intentEvidence(_ *world, st *step, in *Intent) error {
	a := st.Args.(*EvidenceArgs)
	in.Report = &Report{Of: a.Of, Show: a.Show, Reasons: a.Reasons, Compare: a.Compare}
	return nil
}

func titleEvidence(w *world, st *step) lab.Text {
	kinds := []string{}
	for _, of := range st.Args.(*EvidenceArgs).Of {
		if k := w.p.watch(of).Kind; !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	if st.phase == Verify {
		return text.Both("scenario.do-evidence-after", "kinds", strings.Join(kinds, ", "))
	}
	if st.Args.(*EvidenceArgs).Compare != "" {
		return text.Both("scenario.do-evidence-compare", "kinds", strings.Join(kinds, ", "))
	}
	return text.Both("scenario.do-evidence", "kinds", strings.Join(kinds, ", "))
}

func checkDescribe(c *checker, st *step) {
	a, at := st.Args.(*DescribeArgs), st.path+".describe"
	c.watchNames([]string{a.Of}, at+".of")
	st.where = c.exprOver(a.Full, at+".full", st.scope)
}

func intentDescribe(w *world, st *step, in *Intent) error {
	a := st.Args.(*DescribeArgs)
	in.Report = &Report{Of: []string{a.Of}}
	if st.where == nil {
		return nil
	}
	r := w.reading(a.Of)
	if !r.Known {
		return errNotYet
	}
	for _, o := range r.Items {
		if yes, _ := w.truthOf(st.where, o); yes == True {
			in.Report.Full = append(in.Report.Full, uidOf(o))
		}
	}
	return nil
}

// knownKinds gives the API version of kinds that a file need not spell out, and
// whether they live outside of namespaces.
var knownKinds = map[string]struct {
	apiVersion string
	cluster    bool
}{
	"Namespace": {"v1", true}, "Node": {"v1", true}, "PersistentVolume": {"v1", true},
	"Pod": {"v1", false}, "Service": {"v1", false}, "ConfigMap": {"v1", false}, "Secret": {"v1", false},
	"PersistentVolumeClaim": {"v1", false}, "ServiceAccount": {"v1", false}, "ResourceQuota": {"v1", false}, "LimitRange": {"v1", false},
	"Deployment": {"apps/v1", false}, "ReplicaSet": {"apps/v1", false}, "StatefulSet": {"apps/v1", false}, "DaemonSet": {"apps/v1", false},
	"Job": {"batch/v1", false}, "CronJob": {"batch/v1", false}, "HorizontalPodAutoscaler": {"autoscaling/v2", false},
	"PodDisruptionBudget": {"policy/v1", false}, "NetworkPolicy": {"networking.k8s.io/v1", false},
	"Role": {"rbac.authorization.k8s.io/v1", false}, "RoleBinding": {"rbac.authorization.k8s.io/v1", false},
}

func checkGet(c *checker, st *step) {
	a, at := st.Args.(*GetArgs), st.path+".get"
	if _, ok := knownKinds[a.Kind]; !ok && a.APIVersion == "" {
		c.unknown(at+".kind", a.Kind, slices.Sorted(maps.Keys(knownKinds)))
	}
	c.value(a.Name, at+".name", "string")
}

func intentGet(w *world, st *step, in *Intent) error {
	a := st.Args.(*GetArgs)
	k := knownKinds[a.Kind]
	t := Ref{APIVersion: a.APIVersion, Kind: a.Kind, Namespace: w.s.Namespace, Name: w.resolveString(a.Name)}
	if t.APIVersion == "" {
		t.APIVersion = k.apiVersion
	}
	if k.cluster {
		t.Namespace = ""
	}
	in.Get = &Get{Target: t}
	return nil
}

func titleGet(w *world, st *step) lab.Text {
	a := st.Args.(*GetArgs)
	if st.Expect.Error != "" {
		return text.Both("scenario.do-get-gone", "kind", strings.ToLower(a.Kind), "name", w.resolveString(a.Name), "reason", st.Expect.Error)
	}
	return same("get " + strings.ToLower(a.Kind) + " " + w.resolveString(a.Name))
}

func kubectlGetOne(w *world, st *step) string {
	a := st.Args.(*GetArgs)
	get := "get " + strings.ToLower(a.Kind) + " " + w.resolveString(a.Name)
	if knownKinds[a.Kind].cluster {
		return "kubectl " + get
	}
	return w.kubectl(get)
}

func titleAssert(_ *world, st *step) lab.Text {
	names := make([]string, len(st.checks))
	for i, c := range st.checks {
		names[i] = c.Name
	}
	return text.Both("scenario.do-assert", "names", strings.Join(names, ", "))
}

// seconds writes a duration as kubectl's flags are written in the course: 120s.
func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return d.String()
}
