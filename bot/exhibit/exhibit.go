// Package exhibit turns evidence into what the thread shows: numbered pieces in
// the fixed order spec → status → conditions → ownerReferences → Events → logs.
//
// It is pure, and it owns what may be shown: no Secret data, environment values
// masked by name, bounded length. Its texts are the API's own terms and the same
// in every language; the board adds the words around them.
package exhibit

import "time"

// Exhibit is one captured piece of evidence. It is kept with the run, so that
// the thread can be drawn again after the objects are gone.
type Exhibit struct {
	Step  string    `json:"step"`
	Kind  string    `json:"kind"` // evidence, describe, events, rolloutHistory
	At    time.Time `json:"at"`
	Parts []Part    `json:"parts"`
	// Kubectl is the line that a learner would type to see the same.
	Kubectl []string `json:"kubectl,omitempty"`
	// Full is the whole text where Parts hold a cut of it, for a file.
	Full string `json:"full,omitempty"`
}

// The sections of a Part.
const (
	Spec            = "spec"
	Status          = "status"
	Conditions      = "conditions"
	OwnerReferences = "ownerReferences"
	Compare         = "compare"
	Events          = "events"
	Logs            = "logs"
	Describe        = "describe"
	History         = "history"
)

// Part is one section of one object: "Deployment/web" "conditions". Parts about
// several objects, such as the owner tree and Events, have no Object of their
// own; their lines have.
type Part struct {
	Object  string `json:"object,omitempty"`
	Section string `json:"section"`
	Lines   []Line `json:"lines"`
}

// Line is one fact with its source field and the component behind it.
type Line struct {
	Text string `json:"text"`
	// Field is the path in the object; for describe the heading in kubectl's
	// text, for history the revision.
	Field     string `json:"field,omitempty"`
	Component string `json:"component,omitempty"`
	// Object is "Kind/name" where it is not the Part's.
	Object string `json:"object,omitempty"`
	// Message is what a condition says beside its status.
	Message string `json:"message,omitempty"`
	// Reason is an Event's or condition's reason, the CHANGE-CAUSE of a
	// revision, or one of Gone, Same, New in a comparison.
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Count  int       `json:"count,omitempty"`
	Bad    bool      `json:"bad,omitempty"`
}

// The results of comparing one object with the snapshot.
const (
	Gone = "gone"
	Same = "same"
	New  = "new"
)
