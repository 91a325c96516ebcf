package trace

import (
	"regexp"
	"strings"
	"time"

	"labbot/scenarios/engine"
)

// event reads one Event. Reasons are those of the components' own sources
// (pkg/kubelet/events, pkg/controller, the scheduler).
func (r *reader) event(e engine.Event) {
	h := Hop{
		Key: "event/" + e.UID, At: firstSeen(e), Component: Component(e.Component),
		Object: e.Regarding.Kind + "/" + e.Regarding.Name, Detail: e.Message,
		Source: "event " + e.Reason, Count: e.Count, Bad: e.Type == "Warning",
	}
	switch e.Reason {
	case "ScalingReplicaSet":
		r.scaling(h)
		return
	case "SuccessfulCreate", "SuccessfulDelete":
		r.podOf(h, e)
		return
	}
	if e.Regarding.Kind == "Pod" {
		r.podEvent(h, e)
	} else if h.Bad {
		h.What = Warned
		r.add(h)
	}
}

func firstSeen(e engine.Event) time.Time {
	at := e.First
	if at.IsZero() || !e.Created.IsZero() && e.Created.Before(at) {
		at = e.Created
	}
	return at
}

// scaled matches the deployment controller's message.
var scaled = regexp.MustCompile(`^Scaled (?:up|down) replica set (\S+) from (\d+) to (\d+)$`)

// scaling joins the Event of a new ReplicaSet to the ReplicaSet's own record:
// the controller makes it with its replicas, in one act.
func (r *reader) scaling(h Hop) {
	m := scaled.FindStringSubmatch(h.Detail)
	if m == nil {
		h.What = ScaledReplicaSet
		r.add(h)
		return
	}
	object := "ReplicaSet/" + m[1]
	for i, known := range r.hops {
		if known.What == CreatedReplicaSet && known.Object == object && m[2] == "0" && h.At.Sub(known.At).Abs() <= 2*time.Second {
			r.hops[i].Also = append(r.hops[i].Also, h.Key)
			r.hops[i].Source += ", event ScalingReplicaSet"
			return
		}
	}
	h.What, h.Object, h.Detail = ScaledReplicaSet, object, m[2]+" → "+m[3]
	r.add(h)
}

// podOf reads the ReplicaSet controller's Events on making and deleting a Pod.
// They regard the ReplicaSet and name the Pod only in the message.
func (r *reader) podOf(h Hop, e engine.Event) {
	_, name, ok := strings.Cut(e.Message, " pod: ")
	if !ok {
		return
	}
	h.Object, h.Detail, h.What = "Pod/"+name, e.Regarding.Name, DeletedPod
	if e.Reason == "SuccessfulCreate" {
		h.What = CreatedPod
		for i, known := range r.hops {
			if known.What == CreatedPod && known.Object == h.Object {
				r.hops[i].Also = append(r.hops[i].Also, h.Key)
				r.hops[i].Source += ", event SuccessfulCreate"
				return
			}
		}
	}
	r.add(h)
}

var podReasons = map[string]string{
	"Scheduled":        Scheduled,
	"FailedScheduling": NotScheduled,
	"Pulling":          Pulling,
	"Pulled":           Pulled,
	"Started":          Started,
	"Killing":          Stopping,
	"Unhealthy":        Unhealthy,
}

// quiet Events repeat what another hop says.
var quiet = map[string]bool{"Created": true, "Error: ErrImagePull": true, "Error: ImagePullBackOff": true}

func (r *reader) podEvent(h Hop, e engine.Event) {
	if quiet[e.Reason] || quiet[e.Message] {
		return
	}
	h.What = podReasons[e.Reason]
	switch {
	case e.Reason == "Failed" && strings.HasPrefix(e.Message, "Failed to pull image"):
		h.What = PullFailed
	case e.Reason == "BackOff" && strings.HasPrefix(e.Message, "Back-off pulling image"):
		h.What, h.Bad = BackOff, true // the kubelet gives it type Normal
	case e.Reason == "BackOff":
		h.What = RestartBackOff
	case h.What == "" && !h.Bad:
		return
	case h.What == "":
		h.What = Warned
		r.add(h)
		return
	}
	h.Key, h.Also = podKey(e.Regarding.UID, h.What), []string{h.Key}
	h.Detail = detail(h.What, e.Message)
	r.add(h)
}

var (
	quoted   = regexp.MustCompile(`"([^"]+)"`)
	assigned = regexp.MustCompile(` to (\S+)$`)
)

// detail takes from a message what matters on one line.
func detail(what, message string) string {
	switch what {
	case Scheduled:
		if m := assigned.FindStringSubmatch(message); m != nil {
			return m[1]
		}
	case Pulling, Pulled:
		if m := quoted.FindStringSubmatch(message); m != nil {
			return m[1]
		}
	case Started, Stopping:
		return ""
	}
	return message
}
