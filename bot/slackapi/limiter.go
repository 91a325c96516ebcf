package slackapi

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"labbot/bot/lab"
)

// tier is calls a minute and how many may come at once.
type tier struct {
	perMinute, burst int
	perChannel       bool
}

// tiers are Slack's published rates. chat.postMessage is one a second in each
// channel; the bot does not use the burst that Slack allows without promise.
var tiers = map[string]tier{
	"chat.postMessage":      {60, 1, true},
	"files.upload":          {20, 4, false},
	"chat.update":           {50, 10, false},
	"conversations.history": {50, 10, false},
	"conversations.replies": {50, 10, false},
	"conversations.info":    {50, 10, false},
	"chat.postEphemeral":    {100, 20, false},
	"views.open":            {100, 20, false},
	"views.update":          {100, 20, false},
	"auth.test":             {100, 20, false},
}

var defaultTier = tier{20, 4, false}

type bucketKey struct {
	method  string
	channel lab.ChannelID
}

// limiter keeps one bucket per method, and per channel where Slack counts so.
type limiter struct {
	mu      sync.Mutex
	buckets map[bucketKey]*rate.Limiter
	paused  map[bucketKey]time.Time
}

func newLimiter() *limiter {
	return &limiter{buckets: map[bucketKey]*rate.Limiter{}, paused: map[bucketKey]time.Time{}}
}

func (l *limiter) bucket(method string, ch lab.ChannelID) (bucketKey, *rate.Limiter) {
	t, ok := tiers[method]
	if !ok {
		t = defaultTier
	}
	key := bucketKey{method: method}
	if t.perChannel {
		key.channel = ch
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		b = rate.NewLimiter(rate.Limit(float64(t.perMinute)/60), t.burst)
		l.buckets[key] = b
	}
	return key, b
}

// wait blocks until the method may be called.
func (l *limiter) wait(ctx context.Context, method string, ch lab.ChannelID) error {
	key, b := l.bucket(method, ch)
	l.mu.Lock()
	until := l.paused[key]
	l.mu.Unlock()
	if d := time.Until(until); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
	return b.Wait(ctx)
}

// pause stops one method after a 429, and no other.
func (l *limiter) pause(method string, ch lab.ChannelID, d time.Duration) {
	key, _ := l.bucket(method, ch)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused[key] = time.Now().Add(min(max(d, time.Second), time.Minute))
}
