package exhibit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"labbot/internal/golden"
	"labbot/scenarios/engine"
)

var at = time.Date(2026, 3, 4, 10, 0, 50, 0, time.UTC)

func load(t testing.TB, name string) engine.Evidence {
	return golden.Load[engine.Evidence](t, "../trace/testdata/"+name+".json")
}

func all() []string { return []string{"deploy", "rs", "pods"} }

func TestBuild(t *testing.T) {
	describes := golden.Load[map[string]string](t, "testdata/broken.describes.json")
	broken, healthy := load(t, "broken"), load(t, "healthy")
	before := map[string]map[string]any{"tree": {"rs": healthy.Objects["rs"].Items, "pods": healthy.Objects["pods"].Items}}
	waiting := broken.Objects["pods"].Items[2]["metadata"].(map[string]any)["uid"].(string)
	for name, c := range map[string]struct {
		kind engine.ActionKind
		r    engine.Report
		ev   engine.Evidence
	}{
		"objects":       {engine.ActEvidence, engine.Report{Of: all(), Show: []string{"ownerReferences", "conditions", "status", "spec"}}, broken},
		"describe":      {engine.ActDescribe, engine.Report{Of: []string{"deploy"}}, broken},
		"describe-pods": {engine.ActDescribe, engine.Report{Of: []string{"pods"}, Full: []string{waiting}}, broken},
		"events":        {engine.ActEvents, engine.Report{Reasons: []string{"ScalingReplicaSet", "SuccessfulCreate", "Scheduled", "Pulling", "Failed", "BackOff"}}, broken},
		"history":       {engine.ActRolloutHistory, engine.Report{Of: []string{"deploy"}}, broken},
		"compare":       {engine.ActEvidence, engine.Report{Of: []string{"rs", "pods"}, Show: []string{"status", "ownerReferences", "events"}, Compare: "tree", Reasons: []string{"SuccessfulCreate", "Killing", "Scheduled"}}, load(t, "replaced")},
	} {
		t.Run(name, func(t *testing.T) {
			ex := Build(name, c.kind, c.r, c.ev, engine.State{Namespace: "k8s-m01", At: before}, describes, at)
			golden.Equal(t, "testdata/"+name+".golden", show(ex))
		})
	}
}

func show(ex Exhibit) string {
	var b strings.Builder
	for _, k := range ex.Kubectl {
		fmt.Fprintf(&b, "$ %s\n", k)
	}
	for _, p := range ex.Parts {
		fmt.Fprintf(&b, "== %s %s\n", p.Section, p.Object)
		for _, l := range p.Lines {
			mark := " "
			if l.Bad {
				mark = "!"
			}
			fmt.Fprintf(&b, "%s %s", mark, l.Text)
			for _, s := range [][2]string{{"field", l.Field}, {"object", l.Object}, {"reason", l.Reason}, {"message", l.Message}, {"by", l.Component}} {
				if s[1] != "" {
					fmt.Fprintf(&b, " | %s %s", s[0], s[1])
				}
			}
			if l.Count > 1 {
				fmt.Fprintf(&b, " ×%d", l.Count)
			}
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, "-- full: %d bytes\n", len(ex.Full))
	return b.String()
}

// TestOrderIsTheTeachingOrder asks for sections in a wrong order.
func TestOrderIsTheTeachingOrder(t *testing.T) {
	show := []string{Logs, Events, OwnerReferences, Conditions, Status, Spec}
	logs := map[string]string{"logs Pod/web-7c5ddbdf54-tq8dv": "one\ntwo\n"}
	ex := Build("x", engine.ActEvidence, engine.Report{Of: all(), Show: show}, load(t, "broken"), engine.State{}, logs, at)
	var got []string
	for _, p := range ex.Parts {
		if p.Object == "Deployment/web" || p.Object == "" || p.Section == Logs {
			got = append(got, p.Section)
		}
	}
	want := []string{Spec, Status, Conditions, OwnerReferences, Events, Logs}
	if !slices.Equal(got, want) {
		t.Errorf("sections come as %v, want %v", got, want)
	}
}

// TestSnapshotSurvivesJSON compares with a snapshot that was stored and read.
func TestSnapshotSurvivesJSON(t *testing.T) {
	st := engine.State{At: map[string]map[string]any{"tree": {"pods": load(t, "healthy").Objects["pods"].Items}}}
	raw, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	var stored engine.State
	if err := json.Unmarshal(raw, &stored); err != nil {
		t.Fatal(err)
	}
	r := engine.Report{Of: []string{"pods"}, Show: []string{Events}, Compare: "tree"}
	for name, st := range map[string]engine.State{"fresh": st, "stored": stored} {
		ex := Build("x", engine.ActEvidence, r, load(t, "replaced"), st, nil, at)
		var got []string
		for _, l := range ex.Parts[0].Lines {
			got = append(got, l.Reason)
		}
		if want := []string{Same, Gone, New}; !slices.Equal(got, want) {
			t.Errorf("%s: compared %v, want %v", name, got, want)
		}
		if !slices.ContainsFunc(ex.Parts[1].Lines, func(l Line) bool { return l.Reason == "Killing" }) {
			t.Errorf("%s: the Event of the Pod that is gone is missing", name)
		}
	}
}

func TestSecretsStayOut(t *testing.T) {
	const secret = "hunter2hunter2"
	ev := load(t, "broken")
	pod := ev.Objects["pods"].Items[2]
	spec := pod["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
	spec["env"] = []any{
		map[string]any{"name": "DB_PASSWORD", "value": secret},
		map[string]any{"name": "ARGS", "value": "--api-token=" + secret},
		map[string]any{"name": "MODE", "value": "lesson"},
	}
	ev.Objects["secret"] = engine.Reading{Known: true, Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "db"}, "data": map[string]any{"password": secret},
	}}
	ev.Events = append(ev.Events, engine.Event{Type: "Warning", Reason: "Failed", Message: "pull from https://bot:" + secret + "@registry/v2 failed, Bearer " + secret})
	describes := map[string]string{
		"Pod/web-7c5ddbdf54-tq8dv":      "Containers:\n  nginx:\n    Environment:\n      DB_PASSWORD:  first\n                    " + secret + "\n      FROM_SECRET:  <set to the key 'x' in secret 'db'>\n      MODE:  lesson\n    Mounts:  <none>\n",
		"Secret/db":                     "password: " + secret,
		"logs Pod/web-7c5ddbdf54-tq8dv": "start password=" + secret + "\n-----BEGIN RSA PRIVATE KEY-----\n" + secret,
	}
	of := append(all(), "secret")
	for _, kind := range []engine.ActionKind{engine.ActEvidence, engine.ActDescribe, engine.ActEvents, engine.ActRolloutHistory} {
		for _, r := range []engine.Report{{Of: of}, {}, {Of: of, Show: []string{Events, Logs}}} {
			raw, err := json.Marshal(Build("x", kind, r, ev, engine.State{}, describes, at))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(raw), secret) {
				t.Errorf("%s of %v shows the secret:\n%s", kind, r.Of, raw)
			}
			if kind == engine.ActDescribe && len(r.Of) > 0 && !strings.Contains(string(raw), "set to the key") {
				t.Error("describe lost kubectl's reference to a Secret")
			}
		}
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"--db-password=x9 --v=2":                             "--db-password=*** --v=2",
		`{"clientSecret":"abc","a":1}`:                       `{"clientSecret":"***","a":1}`,
		"failed to fetch anonymous token: unexpected status": "failed to fetch anonymous token: unexpected status",
		"password: sesame":                                   "password: ***",
		"TokenExpirationSeconds:  3607":                      "TokenExpirationSeconds:  3607",
		"SecretName:  web-tls":                               "SecretName:  web-tls",
		"postgres://app:pw@db/x":                             "postgres://app:***@db/x",
		"eyJhbGciOi.eyJzdWIi.c2ln is a token":                "*** is a token",
		`secret "db" not found`:                              `secret "db" not found`,
		"docker.io/library/nginx:does-not-exist: not found":  "docker.io/library/nginx:does-not-exist: not found",
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestBuildIsBounded(t *testing.T) {
	ev := load(t, "broken")
	long := strings.Repeat("длинно", 500)
	var pods []map[string]any
	for i := range 200 {
		pods = append(pods, map[string]any{"kind": "Pod", "metadata": map[string]any{"name": fmt.Sprint("p", i), "uid": fmt.Sprint(i)}, "status": map[string]any{"phase": long}})
		ev.Events = append(ev.Events, engine.Event{Reason: "Failed", Message: long, Created: at})
	}
	ev.Objects["pods"] = engine.Reading{Known: true, List: true, Items: pods}
	describes := map[string]string{"Pod/p0": "Status: x\n" + strings.Repeat(long+"\n", 10)}
	for _, kind := range []engine.ActionKind{engine.ActEvidence, engine.ActDescribe, engine.ActEvents, engine.ActRolloutHistory} {
		raw, err := json.Marshal(Build("x", kind, engine.Report{Of: all()}, ev, engine.State{}, describes, at))
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > 400<<10 {
			t.Errorf("%s takes %d bytes of the record", kind, len(raw))
		}
	}
}

func TestUnknownEvidenceGivesNothing(t *testing.T) {
	ev := engine.Evidence{Objects: map[string]engine.Reading{"deploy": {Err: "forbidden"}, "x": {Known: true, Object: map[string]any{"kind": "Pod", "spec": 7}}}}
	ex := Build("x", engine.ActEvidence, engine.Report{Of: []string{"deploy", "none", "x"}}, ev, engine.State{}, nil, at)
	if len(ex.Parts) != 0 {
		t.Errorf("Build = %+v, want no parts", ex.Parts)
	}
}
