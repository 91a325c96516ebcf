// Package exhibit turns evidence into what the thread shows: numbered pieces in
// the fixed order spec → status → conditions → ownerReferences → Events → logs.
//
// It is pure, and it owns what may be shown: no Secret data, environment values
// masked by name, bounded length.
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

// Part is one section of one object: "Deployment/web" "conditions".
type Part struct {
	Object  string `json:"object"`
	Section string `json:"section"`
	Lines   []Line `json:"lines"`
}

// Line is one fact with its source field and the component behind it.
type Line struct {
	Text      string    `json:"text"`
	Field     string    `json:"field,omitempty"`
	Component string    `json:"component,omitempty"`
	At        time.Time `json:"at,omitzero"`
	Count     int       `json:"count,omitempty"`
	Bad       bool      `json:"bad,omitempty"`
}
