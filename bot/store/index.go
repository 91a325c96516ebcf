package store

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"labbot/bot/lab"
	"labbot/bot/run"
)

// orphanAfter is how long an index entry may stand without its record, which a
// crash in the middle of Create leaves behind.
const orphanAfter = 10 * time.Minute

// keepRuns is how many runs of a channel stay listed.
const keepRuns = 200

// index names the run in the indexes, before its record is written.
func (s *Store) index(ctx context.Context, r run.Record) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	at := redis.Z{Score: float64(r.CommandAt.UnixMilli()), Member: string(r.ID)}
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.SAdd(ctx, clustersKey, r.Cluster)
		p.ZAddNX(ctx, activeKey(r.Cluster), at)
		p.ZAddNX(ctx, channelKey(r.Channel), at)
		p.ZRemRangeByRank(ctx, channelKey(r.Channel), 0, -keepRuns-1)
		p.Expire(ctx, channelKey(r.Channel), Retention)
		return nil
	})
	return fail("index", err)
}

// Active lists the live runs of a cluster.
func (s *Store) Active(ctx context.Context, cluster string) ([]run.Brief, error) {
	briefs, _, err := s.briefs(ctx, cluster)
	return briefs, err
}

// Due lists the live runs of all clusters that nobody holds.
func (s *Store) Due(ctx context.Context) ([]run.Brief, error) {
	cctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	clusters, err := s.rdb.SMembers(cctx, clustersKey).Result()
	if err != nil {
		return nil, fail("clusters", err)
	}
	var due []run.Brief
	for _, c := range clusters {
		briefs, now, err := s.briefs(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, b := range briefs {
			if b.Free(now) {
				due = append(due, b)
			}
		}
	}
	return due, nil
}

// briefs reads the heads of a cluster's live runs and Redis's own time. Entries
// whose run is closed or was never recorded are taken out.
func (s *Store) briefs(ctx context.Context, cluster string) ([]run.Brief, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	ids, err := s.rdb.ZRangeWithScores(ctx, activeKey(cluster), 0, -1).Result()
	if err != nil {
		return nil, time.Time{}, fail("active", err)
	}
	heads := make([]*redis.SliceCmd, len(ids))
	waiting := make([]*redis.IntCmd, len(ids))
	var clock *redis.TimeCmd
	_, err = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, z := range ids {
			id := lab.RunID(z.Member.(string))
			heads[i] = p.HMGet(ctx, recordKey(id), "ver", "owner", "until", "closed", "namespace", "channel")
			waiting[i] = p.LLen(ctx, inputsKey(id))
		}
		clock = p.Time(ctx)
		return nil
	})
	if err != nil {
		return nil, time.Time{}, fail("active", err)
	}
	now := clock.Val()
	var out []run.Brief
	var stale []any
	for i, z := range ids {
		v := texts(heads[i].Val())
		recorded := v[0] != ""
		switch {
		case recorded && v[3] != "1":
			ver, _ := strconv.ParseInt(v[0], 10, 64)
			out = append(out, run.Brief{
				ID: lab.RunID(z.Member.(string)), Cluster: cluster, Ver: ver, Owner: v[1], ClaimUntil: instant(v[2]),
				Namespace: v[4], Channel: lab.ChannelID(v[5]), Inputs: int(waiting[i].Val()),
			})
		case recorded || now.Sub(time.UnixMilli(int64(z.Score))) > orphanAfter:
			stale = append(stale, z.Member)
		}
	}
	if len(stale) > 0 {
		err = fail("tidy", s.rdb.ZRem(ctx, activeKey(cluster), stale...).Err())
	}
	return out, now, err
}

// Latest lists the newest runs of a channel.
func (s *Store) Latest(ctx context.Context, channel lab.ChannelID, n int) ([]lab.RunID, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	ids, err := s.rdb.ZRevRange(ctx, channelKey(channel), 0, int64(n)-1).Result()
	if err != nil {
		return nil, fail("latest", err)
	}
	out := make([]lab.RunID, len(ids))
	for i, id := range ids {
		out[i] = lab.RunID(id)
	}
	return out, nil
}

// InThread finds the run whose board is the message ts.
func (s *Store) InThread(ctx context.Context, channel lab.ChannelID, ts lab.TS) (lab.RunID, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	id, err := s.rdb.Get(ctx, threadKey(channel, ts)).Result()
	if errors.Is(err, redis.Nil) {
		return "", run.ErrNotFound
	}
	return lab.RunID(id), fail("in thread", err)
}

// randomOp names one call, so that the client's own repetition of it is known.
func randomOp() string { return rand.Text() }
