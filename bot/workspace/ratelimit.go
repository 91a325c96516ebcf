package workspace

import "time"

// limiter holds Slack's rates as token buckets on the workspace's clock. Slack
// publishes calls per minute and no burst; a fifth of the minute is taken.
type limiter struct {
	opt     RateLimits
	buckets map[string]*bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

func newLimiter(opt RateLimits) *limiter {
	return &limiter{opt: opt, buckets: map[string]*bucket{}}
}

// take spends one token, or says how long until there is one.
func (l *limiter) take(key string, burst int, every time.Duration, now time.Time) time.Duration {
	b := l.buckets[key]
	if b == nil {
		b = &bucket{tokens: float64(burst), at: now}
		l.buckets[key] = b
	}
	b.tokens = min(float64(burst), b.tokens+float64(now.Sub(b.at))/float64(every))
	b.at = now
	if b.tokens < 1 {
		return max(1, time.Duration((1-b.tokens)*float64(every)))
	}
	b.tokens--
	return 0
}

func (l *limiter) tier(name string, m method, now time.Time) time.Duration {
	if l.opt.Off || m.tier == 0 {
		return 0
	}
	perMinute := float64(m.tier) * l.opt.TierFactor
	return l.take("tier "+name, max(1, int(perMinute/5)), time.Duration(float64(time.Minute)/perMinute), now)
}

// post is the special limit of chat.postMessage: about one a second per channel.
func (l *limiter) post(channel string, now time.Time) time.Duration {
	if l.opt.Off {
		return 0
	}
	return l.take("post "+channel, l.opt.PostBurst, l.opt.PostEvery, now)
}
