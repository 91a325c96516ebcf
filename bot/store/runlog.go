package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/scenarios/engine"
)

var _ run.Log = (*Store)(nil)

// maxInputs is how many acts of people may wait for one run: far more than a
// class can make in the seconds between two steps.
const maxInputs = 200

// Create records a new run; the same record given again changes nothing.
func (s *Store) Create(ctx context.Context, r run.Record) error {
	fields, err := newFields(r)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.ID, err)
	}
	if err := s.index(ctx, r); err != nil {
		return err
	}
	args := append([]any{digest(fields...)}, fields...)
	_, err = s.call(ctx, "create", createScript, []string{recordKey(r.ID)}, args...)
	return err
}

// Load reads a run.
func (s *Store) Load(ctx context.Context, id lab.RunID) (run.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	var fields *redis.MapStringStringCmd
	var inputs *redis.StringSliceCmd
	_, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		fields = p.HGetAll(ctx, recordKey(id))
		inputs = p.LRange(ctx, inputsKey(id), 0, -1)
		return nil
	})
	if err != nil {
		return run.Record{}, fail("load", err)
	}
	if len(fields.Val()) == 0 {
		return run.Record{}, run.ErrNotFound
	}
	return named(id)(decodeRecord(fields.Val(), inputs.Val()))
}

// Claim makes owner the holder of the run.
func (s *Store) Claim(ctx context.Context, id lab.RunID, ver int64, owner string, ttl time.Duration) (run.Record, error) {
	want := "-1"
	op := owner + "/any/" + randomOp()
	if ver >= 0 {
		want = strconv.FormatInt(ver, 10)
		op = owner + "/" + want
	}
	reply, err := s.call(ctx, "claim", claimScript, []string{recordKey(id), inputsKey(id)}, want, owner, ttl.Milliseconds(), op)
	if err != nil {
		return run.Record{}, err
	}
	if len(reply) != 2 {
		return run.Record{}, fmt.Errorf("redis claim: %d values", len(reply))
	}
	flat := texts(reply[0])
	fields := make(map[string]string, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		fields[flat[i]] = flat[i+1]
	}
	return named(id)(decodeRecord(fields, texts(reply[1])))
}

// Renew prolongs the claim and reads the waiting inputs.
func (s *Store) Renew(ctx context.Context, id lab.RunID, owner string, ttl time.Duration) ([]engine.Input, error) {
	reply, err := s.call(ctx, "renew", renewScript, []string{recordKey(id), inputsKey(id)}, owner, ttl.Milliseconds())
	if err != nil {
		return nil, err
	}
	return decodeInputs(texts(reply[0]))
}

// Commit applies a change to the version ver.
func (s *Store) Commit(ctx context.Context, id lab.RunID, ver int64, c run.Change) (int64, error) {
	fields, err := changeFields(c)
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", id, err)
	}
	args := append([]any{}, fields...)
	for _, f := range c.Facts {
		raw, err := json.Marshal(f)
		if err != nil {
			return 0, fmt.Errorf("run %s: encode fact: %w", id, err)
		}
		args = append(args, raw)
	}
	for _, in := range c.Consumed {
		args = append(args, in)
	}
	ttl := int64(0)
	if c.Close {
		ttl = Retention.Milliseconds()
	}
	head := []any{strconv.FormatInt(ver, 10), digest(append([]any{ver, c.Release, c.Close}, args...)...),
		flag(c.Release), ttl, len(fields) / 2, len(c.Facts), len(c.Consumed)}
	keys := []string{recordKey(id), inputsKey(id), factsKey(id), slotsKey(id), seenKey(id)}
	reply, err := s.call(ctx, "commit", commitScript, keys, append(head, args...)...)
	if err != nil {
		return 0, err
	}
	text, _ := reply[0].(string)
	return strconv.ParseInt(text, 10, 64)
}

// PushInput leaves an act of a person for the next step.
func (s *Store) PushInput(ctx context.Context, id lab.RunID, in engine.Input) (run.Brief, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return run.Brief{}, err
	}
	keys := []string{recordKey(id), inputsKey(id), seenKey(id)}
	reply, err := s.call(ctx, "push input", pushInputScript, keys, in.ID, raw, maxInputs)
	if err != nil {
		return run.Brief{}, err
	}
	v := texts(reply)
	b := run.Brief{ID: id, Cluster: v[3], Namespace: v[4], Channel: lab.ChannelID(v[5])}
	b.Ver, _ = strconv.ParseInt(v[0], 10, 64)
	if n, ok := reply[6].(int64); ok {
		b.Inputs = int(n)
	}
	// A claim that has run out is nobody's, by the clock that set it.
	if until := instant(v[2]); until.After(instant(v[7])) {
		b.Owner, b.ClaimUntil = v[1], until
	}
	return b, nil
}

// Facts is the run's event log.
func (s *Store) Facts(ctx context.Context, id lab.RunID) ([]engine.Fact, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	raw, err := s.rdb.LRange(ctx, factsKey(id), 0, -1).Result()
	if err != nil {
		return nil, fail("facts", err)
	}
	out := make([]engine.Fact, 0, len(raw))
	for _, r := range raw {
		var f engine.Fact
		if err := json.Unmarshal([]byte(r), &f); err != nil {
			return nil, errors.Join(fmt.Errorf("run %s: decode fact", id), err)
		}
		out = append(out, f)
	}
	return out, nil
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// named adds the run to an error of decoding.
func named(id lab.RunID) func(run.Record, error) (run.Record, error) {
	return func(r run.Record, err error) (run.Record, error) {
		if err != nil {
			return run.Record{}, fmt.Errorf("run %s: %w", id, err)
		}
		return r, nil
	}
}
