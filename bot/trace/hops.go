package trace

import (
	"cmp"
	"slices"
	"time"

	"labbot/scenarios/engine"
)

// maxHops bounds a run's trace; what is dropped is the oldest.
const maxHops = 200

// maxDetail bounds Hop.Detail in characters.
const maxDetail = 400

// Hops reads the hops that ev shows, oldest first. Hops before since are left
// out; st gives the snapshots that tell a restored template from a changed one.
//
// The API's stamps have whole seconds, so all times are cut to the second.
func Hops(st engine.State, ev engine.Evidence, since time.Time) []Hop {
	r := reader{snapshots: snapshots(st)}
	for _, obj := range objects(ev) {
		r.object(obj)
	}
	for _, e := range ev.Events {
		r.event(e)
	}
	since = since.Truncate(time.Second)
	hops := slices.DeleteFunc(Merge(nil, r.hops), func(h Hop) bool { return h.At.Before(since) })
	for i := range hops {
		if hops[i].Gen == 0 {
			hops[i].Gen = r.gen
		}
	}
	sortHops(hops)
	return hops
}

// Merge adds the hops of a newer reading to those known, by Key. A hop keeps
// its earliest time and its highest count; what the newer reading says more is
// taken over. The result is in order and holds the newest 200.
func Merge(old, fresh []Hop) []Hop {
	all := make([]Hop, 0, len(old)+len(fresh))
	place := map[string]int{}
	var gen int64
	for _, h := range old {
		gen = max(gen, h.Gen)
	}
	for _, h := range slices.Concat(old, fresh) {
		if h.Key == "" || h.At.IsZero() {
			continue
		}
		i, known := find(place, h)
		if known {
			all[i] = join(all[i], h)
		} else {
			i = len(all)
			if h.Gen == 0 {
				h.Gen = gen
			}
			all = append(all, h)
		}
		place[h.Key] = i
		for _, k := range h.Also {
			place[k] = i
		}
	}
	sortHops(all)
	if len(all) > maxHops {
		all = all[len(all)-maxHops:]
	}
	return all
}

func find(place map[string]int, h Hop) (int, bool) {
	if i, ok := place[h.Key]; ok {
		return i, true
	}
	for _, k := range h.Also {
		if i, ok := place[k]; ok {
			return i, true
		}
	}
	return 0, false
}

// join brings two readings of one act together.
func join(old, fresh Hop) Hop {
	h := old
	if slices.Contains(fresh.Also, old.Key) { // an object explains a lone Event
		h = fresh
		h.Gen = old.Gen
	}
	if fresh.At.Before(old.At) {
		h.At = fresh.At
	} else {
		h.At = old.At
	}
	h.Count = max(old.Count, fresh.Count)
	h.Detail = cmp.Or(fresh.Detail, old.Detail)
	h.By = cmp.Or(old.By, fresh.By)
	h.Bad = old.Bad || fresh.Bad
	for _, k := range slices.Concat(old.Also, fresh.Also) {
		if k != h.Key && !slices.Contains(h.Also, k) {
			h.Also = append(slices.Clip(h.Also), k)
		}
	}
	return h
}

func sortHops(hops []Hop) {
	slices.SortStableFunc(hops, func(a, b Hop) int {
		return cmp.Or(
			a.At.Compare(b.At),
			cmp.Compare(a.Gen, b.Gen),
			cmp.Compare(slices.Index(Acts, a.What), slices.Index(Acts, b.What)),
			cmp.Compare(a.Object, b.Object),
			cmp.Compare(a.Key, b.Key),
		)
	})
}

// Delta is the time from since to at in whole seconds, never negative: the API's
// stamps are cut to the second and may lie before the command's own second.
func Delta(since, at time.Time) time.Duration {
	return max(0, at.Truncate(time.Second).Sub(since.Truncate(time.Second)))
}
