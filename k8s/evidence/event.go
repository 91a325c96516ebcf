package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"labbot/scenarios/engine"
)

// eventStore holds a namespace's Events in the engine's form. core/v1 shows the
// Events of events.k8s.io too: both are one object in storage.
type eventStore struct {
	changed func()

	mu     sync.RWMutex
	events map[types.UID]stamped
}

// stamped is an Event with its recorder's clock, for ordering only.
type stamped struct {
	engine.Event
	name  string
	stamp int64
	rv    string
}

func newEventStore(changed func()) *eventStore {
	return &eventStore{changed: changed, events: map[types.UID]stamped{}}
}

// Add takes a new Event in.
func (s *eventStore) Add(obj any) error { return s.Update(obj) }

// Update takes the newer form of an Event in.
func (s *eventStore) Update(obj any) error {
	e, err := convert(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	old, known := s.events[types.UID(e.UID)]
	s.events[types.UID(e.UID)] = e
	s.mu.Unlock()
	if !known || old.rv != e.rv {
		s.changed()
	}
	return nil
}

// Delete drops an Event, as the API server does after an hour.
func (s *eventStore) Delete(obj any) error {
	u, err := object(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.events, u.GetUID())
	s.mu.Unlock()
	s.changed()
	return nil
}

// Replace takes a whole list for what there is.
func (s *eventStore) Replace(list []any, _ string) error {
	events := make(map[types.UID]stamped, len(list))
	for _, obj := range list {
		e, err := convert(obj)
		if err != nil {
			return err
		}
		events[types.UID(e.UID)] = e
	}
	s.mu.Lock()
	s.events = events
	s.mu.Unlock()
	s.changed()
	return nil
}

// Resync is not needed: a snapshot is taken whole each time.
func (s *eventStore) Resync() error { return nil }

// list gives the Events oldest first. creationTimestamp has whole seconds; within
// one, the recorder's own clock decides.
func (s *eventStore) list() []engine.Event {
	s.mu.RLock()
	all := make([]stamped, 0, len(s.events))
	for _, e := range s.events {
		all = append(all, e)
	}
	s.mu.RUnlock()
	slices.SortFunc(all, func(a, b stamped) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.stamp, b.stamp), strings.Compare(a.name, b.name))
	})
	events := make([]engine.Event, len(all))
	for i, e := range all {
		events[i] = e.Event
	}
	return events
}

func convert(obj any) (stamped, error) {
	u, err := object(obj)
	if err != nil {
		return stamped{}, err
	}
	var e corev1.Event
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &e); err != nil {
		return stamped{}, fmt.Errorf("read event %s: %w", u.GetName(), err)
	}
	return stamped{Event: Event(&e), name: e.Name, stamp: recorderClock(e.Name), rv: e.ResourceVersion}, nil
}

// Event gives an Event in the engine's form, whichever of the two recorders of
// client-go wrote it: the older one counts in count and lastTimestamp, the newer
// one in series and eventTime.
func Event(e *corev1.Event) engine.Event {
	out := engine.Event{
		UID: string(e.UID), Type: e.Type, Reason: e.Reason, Message: e.Message,
		Component: cmp.Or(e.Source.Component, e.ReportingController),
		Count:     max(1, int(e.Count)),
		Created:   e.CreationTimestamp.Time,
		First:     firstTime(e.FirstTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time),
		Regarding: engine.Ref{
			APIVersion: e.InvolvedObject.APIVersion, Kind: e.InvolvedObject.Kind,
			Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name, UID: string(e.InvolvedObject.UID),
		},
	}
	out.Last = firstTime(e.LastTimestamp.Time, out.First)
	if e.Series != nil {
		out.Count = max(out.Count, int(e.Series.Count))
		out.Last = latest(out.Last, e.Series.LastObservedTime)
	}
	return out
}

func latest(a time.Time, b metav1.MicroTime) time.Time {
	if b.After(a) {
		return b.Time
	}
	return a
}

// firstTime is the first of the times that is set.
func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// recorderClock reads the nanoseconds that client-go's recorders put, in hex,
// behind the last dot of an Event's name; 0 for a name of another form.
func recorderClock(name string) int64 {
	n, err := strconv.ParseInt(name[strings.LastIndexByte(name, '.')+1:], 16, 64)
	if err != nil {
		return 0
	}
	return n
}
