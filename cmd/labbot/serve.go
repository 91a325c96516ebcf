package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/bot/slackapi"
	"labbot/bot/store"
)

func serveCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the bot against Slack, Redis and a cluster",
		Long:  "Run the bot. Settings come from --config and from LABBOT_* in the environment, which wins; see docs/reference/config.md.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(file, env.ToMap(os.Environ()))
			if err != nil {
				return err
			}
			if err := c.check(); err != nil {
				return err
			}
			return serve(cmd.Context(), c)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration file (YAML)")
	return cmd
}

func serve(ctx context.Context, c config) error {
	logger, err := newLogger(c.LogLevel, "")
	if err != nil {
		return err
	}
	defer func() { _ = logger.Sync() }()
	lang, err := lab.ParseLang(c.Lang)
	if err != nil {
		return err
	}
	st, report, err := openStore(ctx, c.Redis, logger)
	if err != nil {
		return err
	}
	defer st.Close()
	for _, w := range report.Warnings {
		logger.Warn("redis", zap.String("warning", w.Text.EN))
	}
	cluster, err := openCluster(c.Kubeconfig, c.Context)
	if err != nil {
		return err
	}
	var signedIn atomic.Bool
	stopHealth, err := healthServer(c.HTTP, func() error {
		if !signedIn.Load() {
			return errors.New("not signed in to Slack yet")
		}
		return st.Ping(context.Background())
	})
	if err != nil {
		return err
	}
	defer stopHealth()
	return serveParts(ctx, parts{
		lang: lang, store: st, cluster: cluster, owner: owner(c.Instance), logger: logger,
		slack: slackapi.Options{BotToken: c.Slack.BotToken.reveal(), AppToken: c.Slack.AppToken.reveal(), URL: c.Slack.URL, Logger: logger},
		ready: func(who slackapi.Identity) {
			signedIn.Store(true)
			logger.Info("signed in to Slack", zap.String("team", who.Team), zap.String("as", who.User))
		},
	})
}

// storeTries bounds the wait at start for a Redis that is still coming up.
const storeTries = 8

func openStore(ctx context.Context, url string, logger *zap.Logger) (st *store.Store, report store.Report, err error) {
	for range storeTries {
		st, report, err = store.Open(ctx, store.Options{URL: url, Logger: logger})
		if err == nil || !errors.Is(err, run.ErrDown) || ctx.Err() != nil {
			return st, report, err
		}
		logger.Warn("Redis does not answer yet", zap.Error(err))
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return st, report, err
}

// owner names this process among all that share the store: a stable instance and
// a boot that is new at each start.
func owner(instance string) string {
	if instance == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "labbot"
		}
		instance = host
	}
	return fmt.Sprintf("%s/%s", instance, lab.NewRunID()[2:])
}

// healthServer answers /healthz while the process lives and /readyz when ready.
func healthServer(addr string, ready func() error) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("health address: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = srv.Serve(ln) }()
	return func() { _ = srv.Close() }, nil
}
