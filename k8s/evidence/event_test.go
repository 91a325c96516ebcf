package evidence

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"labbot/scenarios/engine"
)

// event is one whose reason is its name up to the dot.
func event(name, uid string, after int) *unstructured.Unstructured {
	u := pod(name, after, nil)
	u.SetKind("Event")
	u.SetUID(types.UID(uid))
	u.Object["reason"], _, _ = strings.Cut(name, ".")
	u.Object["type"] = "Normal"
	return u
}

func TestEventOfEitherRecorder(t *testing.T) {
	at := func(s int) metav1.Time { return metav1.NewTime(born.Add(time.Duration(s) * time.Second)) }
	micro := func(s int) metav1.MicroTime { return metav1.NewMicroTime(at(s).Add(123456 * time.Microsecond)) }
	meta := metav1.ObjectMeta{UID: "e1", CreationTimestamp: at(0)}
	about := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: lesson, Name: "web-a", UID: "p1"}
	ref := engine.Ref{APIVersion: "v1", Kind: "Pod", Namespace: lesson, Name: "web-a", UID: "p1"}
	for name, tc := range map[string]struct {
		in   corev1.Event
		want engine.Event
	}{
		"core/v1, repeated": {
			corev1.Event{ObjectMeta: meta, InvolvedObject: about, Type: "Normal", Reason: "BackOff", Message: "Back-off pulling image",
				Source: corev1.EventSource{Component: "kubelet"}, ReportingController: "kubelet", Count: 4, FirstTimestamp: at(1), LastTimestamp: at(9)},
			engine.Event{UID: "e1", Regarding: ref, Type: "Normal", Reason: "BackOff", Message: "Back-off pulling image", Component: "kubelet",
				Count: 4, Created: at(0).Time, First: at(1).Time, Last: at(9).Time},
		},
		"events.k8s.io, single": {
			corev1.Event{ObjectMeta: meta, InvolvedObject: about, Type: "Normal", Reason: "Scheduled", ReportingController: "default-scheduler", EventTime: micro(1)},
			engine.Event{UID: "e1", Regarding: ref, Type: "Normal", Reason: "Scheduled", Component: "default-scheduler",
				Count: 1, Created: at(0).Time, First: micro(1).Time, Last: micro(1).Time},
		},
		"events.k8s.io, series": {
			corev1.Event{ObjectMeta: meta, InvolvedObject: about, ReportingController: "default-scheduler", EventTime: micro(1),
				Series: &corev1.EventSeries{Count: 7, LastObservedTime: micro(30)}},
			engine.Event{UID: "e1", Regarding: ref, Component: "default-scheduler", Count: 7, Created: at(0).Time, First: micro(1).Time, Last: micro(30).Time},
		},
		"no times at all": {
			corev1.Event{ObjectMeta: meta, InvolvedObject: about},
			engine.Event{UID: "e1", Regarding: ref, Count: 1, Created: at(0).Time, First: at(0).Time, Last: at(0).Time},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Event(&tc.in)); diff != "" {
				t.Errorf("Event (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEventsOfOneSecondFollowTheRecordersClock(t *testing.T) {
	s := newEventStore(func() {})
	for _, e := range []*unstructured.Unstructured{
		event("Started.18c0d", "e4", 1), event("Scheduled.18c0a", "e1", 1), event("Late.18c00", "e5", 2), event("Pulled.18c0c", "e3", 1), event("Pulling.18c0b", "e2", 1),
	} {
		if err := s.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Update(event("Started.18c0d", "e4", 1)); err != nil { // a repetition edits, it does not add
		t.Fatal(err)
	}
	var got []string
	for _, e := range s.list() {
		got = append(got, e.Reason)
	}
	if diff := cmp.Diff([]string{"Scheduled", "Pulling", "Pulled", "Started", "Late"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestTenThousandEventsInOneSnapshot(t *testing.T) {
	s := newEventStore(func() {})
	list := make([]any, 10_000)
	for i := range list {
		e := event("Failed.x", "", i/100)
		e.SetUID(types.UID(strings.Repeat("u", 1+i%7) + string(rune('a'+i%26)) + time.Duration(i).String()))
		list[i] = e
	}
	if err := s.Replace(list, "1"); err != nil {
		t.Fatal(err)
	}
	if n := len(s.list()); n != len(list) {
		t.Errorf("%d events, want all %d", n, len(list))
	}
}
