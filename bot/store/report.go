package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/bot/text"
)

// Report is what an operator should know of the Redis in use.
type Report struct {
	Version string
	// Policy is maxmemory-policy, empty when Redis does not tell.
	Policy string
	// AOF and Snapshots tell which persistence is on; Known whether Redis told.
	AOF, Snapshots, Known bool
	// Fsync is appendfsync, empty when unknown or without AOF.
	Fsync    string
	Warnings []Warning
}

// Warning is one thing that puts runs or scores at risk.
type Warning struct {
	// Code is stable: version, policy, volatile, snapshots, fsync,
	// replica, unknown.
	Code string
	Text lab.Text
}

func (r *Report) warn(key string, args ...any) {
	r.Warnings = append(r.Warnings, Warning{Code: strings.TrimPrefix(key, "store."), Text: text.Both(key, args...)})
}

// inspect reads what Redis tells of itself. Managed services often refuse
// CONFIG, so INFO decides and CONFIG only adds.
func (s *Store) inspect(ctx context.Context) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*Timeout)
	defer cancel()
	if err := s.mark(ctx); err != nil {
		return Report{}, err
	}
	raw, err := s.rdb.Info(ctx).Result()
	if err = fail("info", err); errors.Is(err, run.ErrDown) {
		return Report{}, err
	}
	// Any other error is a refusal to tell, and raw is empty.
	info := parseInfo(raw)
	r := Report{Version: info["redis_version"], Policy: info["maxmemory_policy"]}
	_, r.Known = info["aof_enabled"]
	r.AOF = info["aof_enabled"] == "1"
	if conf, err := s.rdb.ConfigGet(ctx, "save").Result(); err == nil {
		r.Snapshots = strings.TrimSpace(conf["save"]) != ""
	}
	if conf, err := s.rdb.ConfigGet(ctx, "appendfsync").Result(); err == nil && r.AOF {
		r.Fsync = conf["appendfsync"]
	}
	r.judge(info)
	return r, nil
}

func (r *Report) judge(info map[string]string) {
	if r.Version != "" && !atLeast(r.Version, 6, 2) {
		r.warn("store.version", "version", r.Version)
	}
	if r.Policy != "" && r.Policy != "noeviction" {
		r.warn("store.policy", "policy", r.Policy)
	}
	if role := info["role"]; role != "" && role != "master" {
		r.warn("store.replica", "role", role)
	}
	switch {
	case !r.Known:
		r.warn("store.unknown")
	case !r.AOF && !r.Snapshots:
		r.warn("store.volatile")
	case !r.AOF:
		r.warn("store.snapshots")
	case r.Fsync == "no":
		r.warn("store.fsync")
	}
}

// mark writes the number of the key layout into an empty Redis and refuses one
// that holds another layout.
func (s *Store) mark(ctx context.Context) error {
	if err := s.rdb.SetNX(ctx, schemaKey, schema, 0).Err(); err != nil {
		return fail("open", err)
	}
	found, err := s.rdb.Get(ctx, schemaKey).Result()
	if err != nil {
		return fail("open", err)
	}
	if found != schema {
		return fmt.Errorf("this Redis holds labbot data of schema %s, this version reads schema %s: use another Redis or database number", found, schema)
	}
	return nil
}

func parseInfo(raw string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(raw) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[k] = v
		}
	}
	return out
}

func atLeast(version string, major, minor int) bool {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return false
	}
	a, err1 := strconv.Atoi(parts[0])
	b, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (a > major || a == major && b >= minor)
}
