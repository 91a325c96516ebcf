package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"labbot/bot"
	"labbot/bot/board"
	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/bot/slackapi"
	"labbot/bot/store"
	"labbot/bot/thread"
	"labbot/scenarios"
	"labbot/scenarios/engine"
)

// clusterName is the one lab cluster of this version.
const clusterName = "lab"

// parts are what serve and demo bring; the app is the same for both.
type parts struct {
	lang    lab.Lang
	slack   slackapi.Options
	store   *store.Store
	cluster run.Cluster
	owner   string
	logger  *zap.Logger
	// ready is called once Slack has accepted the tokens.
	ready func(slackapi.Identity)
}

// library lets runs find the embedded scenarios.
type library struct{ *scenarios.Registry }

func (l library) Program(name string, version int) (run.Program, error) {
	p, found := l.Find(name)
	if !found {
		return nil, fmt.Errorf("there is no scenario %q; the nearest name is %q", name, l.Nearest(name))
	}
	if version != 0 && p.Version() != version {
		return nil, fmt.Errorf("scenario %s: version %d is not in this build, which has %d", name, version, p.Version())
	}
	return p, nil
}

func (l library) infos() []board.ScenarioInfo {
	var out []board.ScenarioInfo
	for _, p := range l.List() {
		out = append(out, board.ScenarioInfo{ID: p.Name(), Module: p.Module(), Title: p.Title(), Minutes: p.Minutes(), Difficulty: p.Difficulty()})
	}
	return out
}

// slackTries bounds the wait for Slack at start.
const slackTries = 10

// serveParts runs the bot until ctx ends, then hands over in order: no new
// envelopes, runs released, last messages out.
func serveParts(ctx context.Context, p parts) error {
	registry, err := scenarios.Library()
	if err != nil {
		return err
	}
	lib := library{registry}
	client := slackapi.New(p.slack)
	who, err := identify(ctx, client, p.logger)
	if err != nil {
		return err
	}
	if p.ready != nil {
		p.ready(who)
	}
	threads := thread.New(client, p.store, p.logger)
	var b *bot.Bot
	runner := run.New(run.Deps{
		Log: p.store, Queue: p.store.Queue(), Clusters: map[string]run.Cluster{clusterName: p.cluster},
		Publisher: threads, Library: lib, Logger: p.logger, Owner: p.owner,
		Refused: func(r run.Record, f engine.Fact) { b.Refused(r, f) },
	})
	threads.OnPosted = runner.Kick
	b = bot.New(bot.Deps{Slack: client, Runs: runner, Scenarios: lib.infos, Cluster: clusterName, Lang: p.lang, Logger: p.logger})

	// Threads outlive the runner, so that the last word of a run gets out.
	threadsCtx, endThreads := context.WithCancel(context.WithoutCancel(ctx))
	defer endThreads()
	threadsDone := make(chan error, 1)
	go func() { threadsDone <- threads.Run(threadsCtx) }()

	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return client.Listen(gctx, b.Handle) })
	g.Go(func() error { return runner.Run(gctx) })
	err = g.Wait()
	b.Close()
	runner.Close()
	endThreads()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, <-threadsDone)
}

func identify(ctx context.Context, client *slackapi.Client, logger *zap.Logger) (slackapi.Identity, error) {
	var err error
	for try := range slackTries {
		var who slackapi.Identity
		if who, err = client.Identity(ctx); err == nil {
			return who, nil
		}
		if slackapi.Fatal(err) || ctx.Err() != nil {
			break
		}
		logger.Warn("Slack does not answer yet", zap.Error(err))
		select {
		case <-ctx.Done():
		case <-time.After(time.Second << min(try, 4)):
		}
	}
	return slackapi.Identity{}, fmt.Errorf("sign in to Slack: %w", err)
}
