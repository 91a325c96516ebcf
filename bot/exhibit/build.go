package exhibit

import (
	"time"

	"labbot/scenarios/engine"
)

// Build makes the exhibit of a report from one reading of the cluster.
//
// describes holds kubectl's description of an object under "Kind/name", and the
// last log lines of a Pod under "logs Pod/name".
func Build(step string, kind engine.ActionKind, r engine.Report, ev engine.Evidence, st engine.State, describes map[string]string, at time.Time) Exhibit {
	return Exhibit{Step: step, Kind: string(kind), At: at}
}
