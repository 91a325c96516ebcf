package trace

import (
	"time"

	"labbot/scenarios/engine"
)

// Hops reads the hops that ev shows, oldest first; what is older than since is
// left out.
func Hops(st engine.State, ev engine.Evidence, since time.Time) []Hop { return nil }

// Merge adds the hops of a newer reading to those known.
func Merge(old, fresh []Hop) []Hop { return append(old, fresh...) }

// Delta is the time from since to at in whole seconds, never negative.
func Delta(since, at time.Time) time.Duration {
	return max(0, at.Truncate(time.Second).Sub(since.Truncate(time.Second)))
}
