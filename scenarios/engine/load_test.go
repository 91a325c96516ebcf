package engine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"

	"labbot/bot/lab"
	"labbot/scenarios"
	"labbot/scenarios/engine"
)

func shipped(t testing.TB, name string) string {
	t.Helper()
	raw, err := fs.ReadFile(scenarios.Files(), name+"/scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// place gives line and column, from 1, of the first mark in a file.
func place(file, mark string) (line, column int) {
	i := strings.Index(file, mark)
	if i < 0 {
		return 0, 0
	}
	return strings.Count(file[:i], "\n") + 1, utf8.RuneCountInString(file[strings.LastIndex(file[:i], "\n")+1:i]) + 1
}

// Each case changes one place of the shipped break-image and must be refused
// there. at is the text at which the problem must be placed.
func TestLoaderRefuses(t *testing.T) {
	cases := []struct{ name, old, new, at, field, message, suggestion string }{
		{"unknown top field", "kind: Scenario", "kimd: Scenario", "kimd", "kimd", "unknown field", "kind"},
		{"unknown version", "labbot/v1", "labbot/v2", "labbot/v2", "apiVersion", "labbot/v1", "labbot/v1"},
		{"mistyped action", "setImage: {of", "setImgae: {of", "setImgae", "spec.phases.inject[0].setImgae", "setImage", "setImage"},
		{"action to come", "setImage: {of: deploy, container: 0, image: \"$images.broken\"}", "probe: {}", "probe", "spec.phases.inject[0].probe", "not supported yet", ""},
		{"mistyped watch", "rolloutHistory: {of: deploy}", "rolloutHistory: {of: deplyo}", "deplyo", "spec.phases.observe[5].rolloutHistory.of", "deploy", "deploy"},
		{"watch of a wrong kind", "rolloutHistory: {of: deploy}", "rolloutHistory: {of: pods}", "pods}\n        assert", "spec.phases.observe[5].rolloutHistory.of", "Deployment", ""},
		{"missing half", `{ru: "Ошибочный image tag", en: "Wrong image tag"}`, `{ru: "Ошибочный image tag"}`, `{ru: "Ошибочный`, "spec.title", "“en” is missing", ""},
		{"empty half", `en: "Wrong image tag"`, `en: ""`, `""}`, "spec.title.en", "may not be empty", ""},
		{"long text", `en: "Wrong image tag"`, `en: "` + strings.Repeat("x", 601) + `"`, `"xxx`, "spec.title.en", "limit is 600", ""},
		{"invisible character", `en: "Wrong image tag"`, "en: \"Wrong\u202e image\"", "\"Wrong\u202e", "spec.title.en", "U+202E", ""},
		{"anchor", "requires:\n", "requires: &r\n", "&r", "", "anchors", ""},
		{"tag", "version: 1,", "version: !!str 1,", "!!str", "", "tag", ""},
		{"repeated field", "kind: Scenario", "kind: Scenario\nkind: Scenario", "kind: Scenario\nmetadata", "kind", "twice", ""},
		{"missing field", "kind: Scenario\n", "", "apiVersion", "kind", "missing", ""},
		{"wrong type", "version: 1,", "version: one,", "one,", "metadata.version", "whole number", ""},
		{"out of bounds", "difficulty: 2", "difficulty: 9", "9, minutes", "metadata.difficulty", "from 1 to 5", ""},
		{"bad duration", "timeout: 20s", "timeout: 20", "20}\n        expect: timeout", "spec.phases.inject[1].rolloutStatus.timeout", "not a duration", ""},
		{"foreign namespace", "namespace: {name: k8s-m01", "namespace: {name: kube-system", "kube-system", "spec.namespace.name", "k8s- or lab-", ""},
		{"mode", "mode: exact", "mode: exactly", "exactly", "spec.namespace.mode", "exact", "exact"},
		{"cap", "caps: [readyNode,", "caps: [readyNodes,", "readyNodes", "spec.requires.caps[0]", "readyNode", "readyNode"},
		{"unknown parameter", "replicas: \"$params.replicas\", adopt", "replicas: \"$params.replica\", adopt", "\"$params.replica\"", "spec.phases.prepare[1].createDeployment.replicas", "replicas", "replicas"},
		{"string for a number", "replicas: \"$params.replicas\", adopt", "replicas: \"$params.brokenTag\", adopt", "\"$params.brokenTag\", adopt", "spec.phases.prepare[1].createDeployment.replicas", "type int", ""},
		{"two references", `broken: "nginx:$params.brokenTag"`, `broken: "$images.web:$params.brokenTag"`, `"$images.web:$params`, "spec.images.broken", "at most one", ""},
		{"default out of its own bounds", "default: 2, min: 2", "default: 1, min: 2", "1, min", "spec.parameters.replicas.default", "from 2 to 3", ""},
		{"pattern", `"[a-z0-9][a-z0-9._-]{0,63}"`, `"[a-z"`, `"[a-z"`, "spec.parameters.brokenTag.pattern", "regular expression", ""},
		{"id twice", "id: baseline", "id: create", "create\n        snapshot", "spec.phases.prepare[3].id", "", ""},
		{"id of the board", "id: objects", "id: board", "board\n", "spec.phases.observe[1].id", "taken already", ""},
		{"expectation that cannot be", "wipe\n        deleteNamespace: {timeout: 120s, precondition: uid}\n        expect: done", "wipe\n        deleteNamespace: {timeout: 120s, precondition: uid}\n        expect: timeout", "", "spec.phases.cleanup[0].expect", "never end", ""},
		{"button without evidence", "enableAfter: history, ", "", "{id: rollback", "spec.phases.fix.buttons[0]", "enableAfter", ""},
		{"button after no step", "enableAfter: history", "enableAfter: histroy", "histroy", "spec.phases.fix.buttons[0].enableAfter", "history", "history"},
		{"rollback without a snapshot", "to: baseline}", "to: baselnie}", "baselnie", "spec.phases.fix.buttons[0].undo.to", "baseline", "baseline"},
		{"rollback to a later step", "undo: {of: deploy, to: baseline}", "undo: {of: deploy, to: proof}", "proof}}", "spec.phases.fix.buttons[0].undo.to", "not there yet", ""},
		{"no proof of cleanup", "expect: {error: NotFound}", "expect: done", "- id: wipe", "spec.phases.cleanup", "not proved", ""},
		{"first hint costs", "after: 2m\n      cost: 0", "after: 2m\n      cost: 1", "", "spec.hints[0].cost", "free", ""},
		{"hints out of order", "after: 4m", "after: 1m", "1m\n", "spec.hints[1].after", "order", ""},
		{"right answer that is no option", "right: [a, c]", "right: [a, x]", "x]", "spec.questions[0].right[1]", "a, b, c, d", ""},
		{"evidence of no step", "evidence: [events, describe-pods]", "evidence: [events, describe-pod]", "describe-pod]", "spec.questions[0].evidence[1]", "describe-pods", "describe-pods"},

		{"expr: syntax", "expr: \"deploy == null\"", "expr: \"deploy ==\"", "", "spec.moves.wrong[2].expr", "CEL", ""},
		{"expr: unknown name", "expr: \"deploy == null\"", "expr: \"deplyo == null\"", "deplyo", "spec.moves.wrong[2].expr", "deploy", "deploy"},
		{"expr: unknown function", "rolledOut(deploy)\n", "rolledout(deploy)\n", "", "spec.phases.verify.oracle[0].expr", "rolledOut", "rolledOut"},
		{"expr: no truth", "expr: \"deploy == null\"", "expr: \"images(deploy)\"", "images(deploy)\"", "spec.moves.wrong[2].expr", "true or false", ""},
		{"expr: wrong argument", "expr: \"deploy == null\"", "expr: \"live('x')\"", "", "spec.moves.wrong[2].expr", "no matching overload", ""},
		{"expr: unknown step", "at.baseline.deploy.metadata.uid", "at.basline.deploy.metadata.uid", "", "spec.phases.verify.oracle[0].expr", "baseline", "baseline"},
		{"expr: name not in the snapshot", "expr: \"template(deploy) == template(at.baseline.deploy)\"", "expr: \"template(deploy) == template(at.baseline.deply)\"", "deply)", "spec.phases.fix.accepted[0].expr", "deploy", "deploy"},
		{"expr: later step", "expr: \"revisions(deploy).size() >= 2\"", "expr: \"at.proof.deploy == null\"", "proof.deploy", "spec.phases.observe[5].assert[0].expr", "not there yet", ""},
		{"expr: own step", "expr: \"revisions(deploy).size() >= 2\"", "expr: \"at.history.deploy == null\"", "history.deploy", "spec.phases.observe[5].assert[0].expr", "not there yet", ""},
		{"expr: half of a snapshot", "expr: \"deploy == null\"", "expr: \"at.baseline == null\"", "at.baseline == ", "spec.moves.wrong[2].expr", "at.STEP.NAME", ""},
		{"expr: unknown parameter", "availableReplicas.orValue(0) >= params.replicas", "availableReplicas.orValue(0) >= params.replica", "replica\"", "spec.phases.inject[1].assert[0].expr", "replicas", "replicas"},
		{"expr: whole group", "expr: \"deploy == null\"", "expr: \"params.size() == 0\"", "params.size", "spec.moves.wrong[2].expr", "params.NAME", ""},
		{"expr: Events in verify", "rolledOut(deploy)\n", "ev(deploy, 'Failed').size() == 0\n", "", "spec.phases.verify.oracle[0].expr", "Events", ""},
		{"expr: deep nesting", "expr: \"deploy == null\"", "expr: \"pods.all(a, pods.all(b, pods.all(c, pods.all(d, pods.all(e, a == b && c == d && e == a)))))\"", "", "spec.moves.wrong[2].expr", "nesting", ""},
		{"hold of an always", "mode: always\n", "mode: always\n            hold: 5s\n", "5s\n            expr", "spec.phases.inject[1].assert[0].hold", "eventually", ""},
	}
	good := shipped(t, "break-image")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			file := strings.Replace(good, c.old, c.new, 1)
			if file == good {
				t.Fatalf("%q is not in the file", c.old)
			}
			_, err := engine.Load("f.yaml", []byte(file))
			var le *engine.LoadError
			if !errors.As(err, &le) {
				t.Fatalf("loaded, or a strange error: %v", err)
			}
			for _, p := range le.Problems {
				if p.Field != c.field || !strings.Contains(p.In("f.yaml", lab.EN), c.message) && !strings.Contains(strings.ToLower(p.In("f.yaml", lab.EN)), c.message) || p.Suggestion != c.suggestion {
					continue
				}
				if line, column := place(file, c.at); c.at != "" && (p.Line != line || p.Column != column) {
					t.Errorf("placed at %d:%d, want %d:%d\n%s", p.Line, p.Column, line, column, p.In("f.yaml", lab.EN))
				}
				if p.Line == 0 || !p.Message.Complete() {
					t.Errorf("no place or half a message: %+v", p)
				}
				return
			}
			t.Errorf("no problem of field %q with %q and suggestion %q:\n%v", c.field, c.message, c.suggestion, err)
		})
	}
}

func TestLoaderRefusesFiles(t *testing.T) {
	good := shipped(t, "reconcile")
	deep := "a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40)
	bomb := "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\n"
	for name, c := range map[string]struct{ file, message string }{
		"empty":           {"", "empty"},
		"only a comment":  {"# nothing\n", "empty"},
		"not YAML":        {"a: [", "not YAML"},
		"alias":           {"a: *x", "unknown anchor"},
		"a list":          {"- a\n", "name: value"},
		"two documents":   {good + "\n---\n" + good, "several YAML documents"},
		"too big":         {good + "#" + strings.Repeat("x", 256<<10), "too big"},
		"too deep":        {deep, "deeper than 32"},
		"expanding":       {bomb, "anchors"},
		"many values":     {"a: [" + strings.Repeat("1,", 20001) + "]", "more than 20000"},
		"not UTF-8":       {"a: \xff\xfe", "UTF-8"},
		"merge key":       {"<<: {kind: Scenario}\n", "unknown field"},
		"key is a list":   {"[a, b]: c\n", "word"},
		"nul characters":  {"kind: \"a\\0b\"\n", "missing"},
		"numeric surname": {"12: x\n", "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := engine.Load("f.yaml", []byte(c.file))
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(c.message)) {
				t.Errorf("error %q, want %q", err, c.message)
			}
		})
	}
}

func TestLintGivesAllProblemsInOrder(t *testing.T) {
	file := strings.NewReplacer("difficulty: 2", "difficulty: 9", "deploy == null\"", "deplyo == null\"", "mode: exact", "mode: exactly").Replace(shipped(t, "break-image"))
	ps := engine.Lint("f.yaml", []byte(file))
	if len(ps) != 1 || ps[0].Suggestion != "exact" {
		t.Fatalf("form comes first: %+v", ps)
	}
	ps = engine.Lint("f.yaml", []byte(strings.Replace(file, "exactly", "exact", 1)))
	if len(ps) != 2 || ps[0].Field != "metadata.difficulty" || ps[1].Suggestion != "deploy" {
		t.Errorf("problems: %+v", ps)
	}
	if ps := engine.Lint("f.yaml", []byte(shipped(t, "break-image"))); len(ps) > 0 {
		t.Errorf("the shipped scenario has problems: %+v", ps)
	}
}

func TestStartTeachesParameters(t *testing.T) {
	p := program(t, "break-image")
	for name, c := range map[string]struct {
		params map[string]string
		want   string
	}{
		"too many":       {map[string]string{"replicas": "9"}, "from 2 to 3"},
		"not a number":   {map[string]string{"replicas": "two"}, "from 2 to 3"},
		"unknown":        {map[string]string{"replica": "3"}, "“replicas”"},
		"far off":        {map[string]string{"zzzzzzzzzzzz": "3"}, "brokenTag, replicas"},
		"hostile tag":    {map[string]string{"brokenTag": "x y; rm"}, "brokenTag=does-not-exist"},
		"tag that works": {map[string]string{"brokenTag": "1.29-alpine"}, "exists"},
		"tag too long":   {map[string]string{"brokenTag": strings.Repeat("a", 65)}, "does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.Start(engine.StartArgs{Run: "r-x", Params: c.params})
			var pe *engine.ParamError
			if !errors.As(err, &pe) || !strings.Contains(pe.Text.EN, c.want) || !pe.Text.Complete() {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	s, err := p.Start(engine.StartArgs{Run: "r-x", Params: map[string]string{"replicas": "3", "brokenTag": "nope"}})
	if err != nil || s.Params["replicas"] != int64(3) || s.Images["broken"] != "nginx:nope" {
		t.Errorf("state %+v, error %v", s, err)
	}
}

func TestTitlesAndKubectlLines(t *testing.T) {
	p := program(t, "break-image")
	var b strings.Builder
	for _, ph := range p.Phases() {
		for _, st := range ph.Steps {
			if !st.Title.Complete() {
				t.Errorf("step %s has no whole title: %+v", st.ID, st.Title)
			}
			fmt.Fprintf(&b, "%s/%s | %s | %s\n", ph.Phase, st.ID, st.Title.EN, st.Kubectl)
		}
	}
	want := `prepare/ns | create namespace k8s-m01 and wait until it is ready | kubectl create namespace k8s-m01
prepare/create | create deployment web --image=nginx:1.29-alpine --replicas=2 | kubectl -n k8s-m01 create deployment web --image=nginx:1.29-alpine --replicas=2
prepare/ready | rollout status deployment/web --timeout=120s | kubectl -n k8s-m01 rollout status deployment/web --timeout=120s
prepare/baseline | remember the healthy state | 
inject/set-image | set image deployment/web nginx=nginx:does-not-exist | kubectl -n k8s-m01 set image deployment/web nginx=nginx:does-not-exist
inject/status | rollout status deployment/web --timeout=20s | kubectl -n k8s-m01 rollout status deployment/web --timeout=20s
observe/symptom | observe: pull-fails | 
observe/objects | evidence: Deployment, ReplicaSet, Pod | kubectl -n k8s-m01 get deployment,replicaset,pod -o wide
observe/describe-deployment | describe deployment web | kubectl -n k8s-m01 describe deployment web
observe/describe-pods | describe pods -l app=web | kubectl -n k8s-m01 describe pods -l app=web
observe/events | get events --sort-by=.metadata.creationTimestamp | kubectl -n k8s-m01 get events --sort-by=.metadata.creationTimestamp
observe/history | rollout history deployment/web | kubectl -n k8s-m01 rollout history deployment/web
verify/verified | evidence after the repair: Deployment, Pod | kubectl -n k8s-m01 get deployment,pod -o wide
cleanup/wipe | delete namespace k8s-m01 and wait until it is gone | kubectl delete namespace k8s-m01 --wait=true
cleanup/proof | get namespace k8s-m01: NotFound is expected | kubectl get namespace k8s-m01
`
	if got := b.String(); got != want {
		t.Errorf("got:\n%s", got)
	}
}
