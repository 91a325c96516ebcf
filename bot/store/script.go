package store

import (
	"context"
	"embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var lua embed.FS

func script(name string) *redis.Script {
	src, err := lua.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // a broken constant: the files are embedded
	}
	return redis.NewScript(string(src))
}

var (
	createScript    = script("create")
	claimScript     = script("claim")
	renewScript     = script("renew")
	commitScript    = script("commit")
	pushInputScript = script("push_input")
	beginPostScript = script("begin_post")
	endPostScript   = script("end_post")
	enterScript     = script("enter")
	leaveScript     = script("leave")
)

// call runs a script whose reply begins with a status, and returns the rest.
func (s *Store) call(ctx context.Context, op string, sc *redis.Script, keys []string, args ...any) ([]any, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	reply, err := sc.Run(ctx, s.rdb, keys, args...).Slice()
	if err != nil {
		return nil, fail(op, err)
	}
	if len(reply) == 0 {
		return nil, fmt.Errorf("redis %s: empty reply", op)
	}
	status, _ := reply[0].(string)
	if err, bad := statuses[status]; bad {
		return nil, err
	}
	if status != "OK" {
		return nil, fmt.Errorf("redis %s: reply %q", op, status)
	}
	return reply[1:], nil
}

func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, 0, len(list))
	for _, x := range list {
		t, _ := x.(string)
		out = append(out, t)
	}
	return out
}
