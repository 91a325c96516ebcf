package slackapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"sync"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"
	"go.uber.org/zap"

	"labbot/bot"
)

const (
	// ackBudget leaves 500 ms of Slack's 3 s for the way there and back.
	ackBudget = 2500 * time.Millisecond
	// sockets covers the gap while one connection is refreshed.
	sockets = 2
	// remember is how long envelope ids are kept: Slack's last repetition of an
	// event comes after about 5 minutes.
	remember = 10 * time.Minute
	// inFlight bounds the envelopes being handled at once.
	inFlight  = 256
	readLimit = 1 << 20
)

// Listen receives envelopes over Socket Mode until ctx ends or the tokens turn
// out to be useless, which is an error that Fatal knows.
func (c *Client) Listen(ctx context.Context, handle bot.Handler) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := &listener{client: c, handle: handle, seen: map[string]time.Time{}, slots: make(chan struct{}, inFlight)}
	var wg sync.WaitGroup
	for n := range sockets {
		wg.Go(func() {
			if err := l.socket(ctx, n); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	l.work.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

type listener struct {
	client *Client
	handle bot.Handler
	slots  chan struct{}
	work   sync.WaitGroup

	mu     sync.Mutex
	seen   map[string]time.Time
	pruned time.Time
}

func (l *listener) socket(ctx context.Context, n int) error {
	logger := l.client.logger.With(zap.Int("socket", n))
	sm := socketmode.New(l.client.api, socketmode.OptionReadLimit(readLimit),
		socketmode.OptionLog(log.New(io.Discard, "", 0)))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- sm.RunContext(ctx) }()
	for {
		select {
		case err := <-done:
			if Fatal(err) {
				return fmt.Errorf("socket mode: %w", err)
			}
			return nil
		case e := <-sm.Events:
			if err := l.event(ctx, sm, e, logger); err != nil {
				cancel(err)
				return errors.Join(err, ignoreCancel(<-done))
			}
		}
	}
}

func ignoreCancel(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (l *listener) event(ctx context.Context, sm *socketmode.Client, e socketmode.Event, logger *zap.Logger) error {
	switch data := e.Data.(type) {
	case *slack.ConnectionErrorEvent:
		// slack-go retries these for ever, wrong tokens included.
		if Fatal(data.ErrorObj) {
			return fmt.Errorf("socket mode: %w", data.ErrorObj)
		}
		logger.Warn("connection failed", zap.Error(data.ErrorObj), zap.Duration("again_in", data.Backoff))
		return nil
	case *socketmode.ErrorBadMessage:
		l.ackUnread(ctx, sm, data, logger)
		return nil
	}
	switch e.Type {
	case socketmode.EventTypeConnected:
		logger.Info("connected")
	case socketmode.EventTypeInvalidAuth:
		return slack.SlackErrorResponse{Err: "invalid_auth"}
	}
	if e.Request == nil || e.Request.EnvelopeID == "" {
		return nil
	}
	env := bot.Envelope{ID: e.Request.EnvelopeID, At: time.Now()}
	switch data := e.Data.(type) {
	case slack.SlashCommand:
		env.Command = &data
	case slack.InteractionCallback:
		env.Interaction = &data
	case slackevents.EventsAPIEvent:
		env.Event = &data
	}
	l.start(ctx, sm, env, logger)
	return nil
}

// start handles the envelope beside the reader, so that one slow answer holds up
// nobody else.
func (l *listener) start(ctx context.Context, sm *socketmode.Client, env bot.Envelope, logger *zap.Logger) {
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	l.work.Go(func() {
		defer func() { <-l.slots }()
		ack := l.answer(ctx, env, logger)
		actx, cancel := context.WithTimeout(ctx, ackBudget)
		defer cancel()
		if err := sm.AckCtx(actx, env.ID, ack); err != nil {
			logger.Warn("ack failed", zap.String("envelope", env.ID), zap.Error(err))
		}
	})
}

// answer runs the handler once for each envelope id: an envelope delivered again
// gets a bare ack.
func (l *listener) answer(ctx context.Context, env bot.Envelope, logger *zap.Logger) (ack any) {
	if !l.first(env.ID, env.At) {
		logger.Info("envelope delivered again", zap.String("envelope", env.ID))
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			logger.Error("panic in handler", zap.String("envelope", env.ID), zap.Any("panic", p), zap.Stack("stack"))
		}
	}()
	hctx, cancel := context.WithTimeout(ctx, ackBudget)
	defer cancel()
	return l.handle(hctx, env)
}

func (l *listener) first(id string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, twice := l.seen[id]; twice {
		return false
	}
	if now.Sub(l.pruned) > time.Minute {
		l.pruned = now
		maps.DeleteFunc(l.seen, func(_ string, at time.Time) bool { return now.Sub(at) > remember })
	}
	l.seen[id] = now
	return true
}

// ackUnread acks an envelope whose payload slack-go could not read; unacked, it
// would come back for ever.
func (l *listener) ackUnread(ctx context.Context, sm *socketmode.Client, bad *socketmode.ErrorBadMessage, logger *zap.Logger) {
	var head struct {
		ID   string `json:"envelope_id"`
		Type string `json:"type"`
	}
	if json.Unmarshal(bad.Message, &head) != nil || head.ID == "" {
		logger.Warn("frame that is no envelope", zap.Int("bytes", len(bad.Message)))
		return
	}
	logger.Warn("envelope not understood", zap.String("type", head.Type), zap.Error(bad.Cause))
	actx, cancel := context.WithTimeout(ctx, ackBudget)
	defer cancel()
	if err := sm.AckCtx(actx, head.ID, nil); err != nil {
		logger.Warn("ack failed", zap.String("envelope", head.ID), zap.Error(err))
	}
}
