package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/redis/go-redis/v9"

	"labbot/bot/lab"
	"labbot/bot/run"
)

// maxLine is how many runs may wait for one namespace.
const maxLine = 20

// posting is a run.Posting as the scripts write it.
type posting struct {
	Since string `json:"since"`
	TS    lab.TS `json:"ts"`
	Hash  string `json:"hash"`
}

func decodePosting(slot, raw string) (run.Posting, error) {
	if raw == "" {
		return run.Posting{Slot: slot}, nil
	}
	var p posting
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		return run.Posting{}, fmt.Errorf("decode slot %s: %w", slot, err)
	}
	return run.Posting{Slot: slot, Since: instant(p.Since), TS: p.TS, Hash: p.Hash}, nil
}

// BeginPost records that the slot is about to be posted.
func (s *Store) BeginPost(ctx context.Context, id lab.RunID, slot string) (run.Posting, error) {
	reply, err := s.call(ctx, "begin post", beginPostScript, []string{recordKey(id), slotsKey(id)}, slot, randomOp())
	if err != nil {
		return run.Posting{}, err
	}
	raw, _ := reply[0].(string)
	return decodePosting(slot, raw)
}

// EndPost records the message that stands in Slack. For the board it also makes
// the run findable by its thread.
func (s *Store) EndPost(ctx context.Context, id lab.RunID, slot string, ts lab.TS, hash string) (run.Posting, error) {
	reply, err := s.call(ctx, "end post", endPostScript, []string{recordKey(id), slotsKey(id)}, slot, string(ts), hash)
	if err != nil {
		return run.Posting{}, err
	}
	raw, _ := reply[0].(string)
	p, err := decodePosting(slot, raw)
	if err != nil || slot != run.RootSlot {
		return p, err
	}
	return p, s.indexThread(ctx, id, p.TS)
}

func (s *Store) indexThread(ctx context.Context, id lab.RunID, ts lab.TS) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	channel, err := s.rdb.HGet(ctx, recordKey(id), "channel").Result()
	if err != nil {
		return fail("thread", err)
	}
	return fail("thread", s.rdb.Set(ctx, threadKey(lab.ChannelID(channel), ts), string(id), Retention).Err())
}

// Slots reads all that is recorded of a run's thread.
func (s *Store) Slots(ctx context.Context, id lab.RunID) (map[string]run.Posting, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	raw, err := s.rdb.HGetAll(ctx, slotsKey(id)).Result()
	if err != nil {
		return nil, fail("slots", err)
	}
	out := make(map[string]run.Posting, len(raw))
	for slot, v := range raw {
		if out[slot], err = decodePosting(slot, v); err != nil {
			return nil, fmt.Errorf("run %s: %w", id, err)
		}
	}
	return out, nil
}

// Enter puts the run at the end of the namespace's line.
func (s *Store) Enter(ctx context.Context, cluster, namespace string, id lab.RunID) (int, error) {
	place, err := s.plain(ctx, enterScript, lineKey(cluster, namespace), string(id), maxLine).Int()
	if err != nil {
		return 0, fail("enter", err)
	}
	if place < 0 {
		return 0, run.ErrFull
	}
	return place, nil
}

// Leave takes the run out of the line and returns whose turn it is.
func (s *Store) Leave(ctx context.Context, cluster, namespace string, id lab.RunID) (lab.RunID, error) {
	next, err := s.plain(ctx, leaveScript, lineKey(cluster, namespace), string(id)).Text()
	return lab.RunID(next), fail("leave", err)
}

// plain runs a script on one key whose reply is a single value.
func (s *Store) plain(ctx context.Context, sc *redis.Script, key string, args ...any) *redis.Cmd {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	return sc.Run(ctx, s.rdb, []string{key}, args...)
}
