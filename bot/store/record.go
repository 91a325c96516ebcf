package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"labbot/bot/exhibit"
	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/scenarios/engine"
)

// The record is a hash with one field for each part that changes on its own, so
// that a commit writes only what it changes. "fixed" holds what never changes.
const exhibitPrefix = "exhibit:"

type fixed struct {
	ID        lab.RunID     `json:"id"`
	Cohort    lab.CohortID  `json:"cohort"`
	Channel   lab.ChannelID `json:"channel"`
	Lang      lab.Lang      `json:"lang"`
	StartedBy lab.UserID    `json:"startedBy"`
	CommandAt time.Time     `json:"commandAt"`
	Cluster   string        `json:"cluster"`

	Params map[string]string `json:"params,omitempty"`
}

// newFields are the fields of a fresh record, as a list of names and values.
func newFields(r run.Record) ([]any, error) {
	f, err := json.Marshal(fixed{r.ID, r.Cohort, r.Channel, r.Lang, r.StartedBy, r.CommandAt, r.Cluster, r.Params})
	if err != nil {
		return nil, err
	}
	fields, err := changeFields(run.Change{State: &r.State, Position: &r.Position, Hops: r.Hops, Exhibits: r.Exhibits})
	if err != nil {
		return nil, err
	}
	return append([]any{
		"ver", strconv.FormatInt(max(r.Ver, 1), 10), "fixed", f, "owner", "", "until", "0", "closed", "0",
		"cluster", r.Cluster, "namespace", r.State.Namespace, "channel", string(r.Channel),
	}, fields...), nil
}

func changeFields(c run.Change) ([]any, error) {
	var fields []any
	add := func(name string, v any) error {
		raw, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		fields = append(fields, name, raw)
		return nil
	}
	if c.State != nil {
		if err := add("state", c.State); err != nil {
			return nil, err
		}
		fields = append(fields, "namespace", c.State.Namespace)
	}
	if c.Position != nil {
		fields = append(fields, "position", strconv.Itoa(*c.Position))
	}
	if c.Hops != nil {
		if err := add("hops", c.Hops); err != nil {
			return nil, err
		}
	}
	for _, step := range slices.Sorted(maps.Keys(c.Exhibits)) {
		if err := add(exhibitPrefix+step, c.Exhibits[step]); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// digest names a write by its content, so that the same one given twice, even
// in two calls, is known to be the same.
func digest(parts ...any) string {
	h := sha256.New()
	for _, p := range parts {
		switch p := p.(type) {
		case []byte:
			fmt.Fprintf(h, "%d:%s", len(p), p)
		default:
			s := fmt.Sprint(p)
			fmt.Fprintf(h, "%d:%s", len(s), s)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

func decodeRecord(fields map[string]string, inputs []string) (run.Record, error) {
	var f fixed
	if err := json.Unmarshal([]byte(fields["fixed"]), &f); err != nil {
		return run.Record{}, fmt.Errorf("decode fixed: %w", err)
	}
	r := run.Record{
		ID: f.ID, Cohort: f.Cohort, Channel: f.Channel, Lang: f.Lang, StartedBy: f.StartedBy,
		CommandAt: f.CommandAt, Cluster: f.Cluster, Params: f.Params,
		Owner: fields["owner"], ClaimUntil: instant(fields["until"]), Closed: fields["closed"] == "1",
	}
	var err error
	if r.Ver, err = strconv.ParseInt(fields["ver"], 10, 64); err != nil {
		return r, fmt.Errorf("decode ver: %w", err)
	}
	if p := fields["position"]; p != "" {
		if r.Position, err = strconv.Atoi(p); err != nil {
			return r, fmt.Errorf("decode position: %w", err)
		}
	}
	if err := json.Unmarshal([]byte(fields["state"]), &r.State); err != nil {
		return r, fmt.Errorf("decode state: %w", err)
	}
	if h := fields["hops"]; h != "" {
		if err := json.Unmarshal([]byte(h), &r.Hops); err != nil {
			return r, fmt.Errorf("decode hops: %w", err)
		}
	}
	for name, raw := range fields {
		step, is := strings.CutPrefix(name, exhibitPrefix)
		if !is {
			continue
		}
		var x exhibit.Exhibit
		if err := json.Unmarshal([]byte(raw), &x); err != nil {
			return r, fmt.Errorf("decode %s: %w", name, err)
		}
		if r.Exhibits == nil {
			r.Exhibits = map[string]exhibit.Exhibit{}
		}
		r.Exhibits[step] = x
	}
	r.Inputs, err = decodeInputs(inputs)
	return r, err
}

func decodeInputs(raw []string) ([]engine.Input, error) {
	var out []engine.Input
	for _, s := range raw {
		var in engine.Input
		if err := json.Unmarshal([]byte(s), &in); err != nil {
			return nil, fmt.Errorf("decode input: %w", err)
		}
		out = append(out, in)
	}
	return out, nil
}

// instant reads milliseconds since 1970; "0" and rubbish are the zero time.
func instant(ms string) time.Time {
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}
