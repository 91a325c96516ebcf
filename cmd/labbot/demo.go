package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/pkg/browser"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"labbot/bot/lab"
	"labbot/bot/slackapi"
	"labbot/bot/text"
	"labbot/bot/workspace"
	"labbot/k8s"
	"labbot/scenarios"
)

// demoOptions are the flags of demo.
type demoOptions struct {
	addr       string
	kubeconfig string
	yesContext string
	data       string
	redis      string
	lang       string
	labcluster string
	noBrowser  bool
	out        io.Writer
	in         io.Reader
}

func demoCommand() *cobra.Command {
	o := demoOptions{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Start the bot with a local Slack-compatible workspace, Redis and a lab cluster",
		Long: `Start everything on this machine: a Slack-compatible workspace in the browser,
Redis, a real Kubernetes API, and the bot between them. Ctrl+C stops all of it;
the same --data goes on where it was.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.out, o.in = cmd.OutOrStdout(), cmd.InOrStdin()
			return demo(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.addr, "addr", "127.0.0.1:8080", "address of the page, on loopback")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "use this cluster in place of the embedded one")
	f.StringVar(&o.yesContext, "yes-this-context", "", "the context's name, given back in advance (for scripts)")
	f.StringVar(&o.data, "data", defaultData(), "folder of what is kept")
	f.StringVar(&o.redis, "redis", "", "Redis URL; without it redis-server is started if installed, else one in this process")
	f.StringVar(&o.lang, "lang", "en", "language of the bot: ru or en")
	f.StringVar(&o.labcluster, "labcluster", "", "path of the labcluster binary (default: beside this one, then on PATH)")
	f.BoolVar(&o.noBrowser, "no-browser", false, "do not open the page")
	return cmd
}

func defaultData() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ".labbot-demo"
	}
	return filepath.Join(dir, "labbot", "demo")
}

// demo starts the pieces in order, says what it started, and stops them in the
// opposite order.
func demo(ctx context.Context, o demoOptions) (err error) {
	lang, err := lab.ParseLang(o.lang)
	if err != nil {
		return err
	}
	registry, err := scenarios.Library()
	if err != nil {
		return err
	}
	p := printer{out: o.out, lang: lang}
	ln, unlock, err := claim(o, lang)
	if err != nil {
		return err
	}
	defer unlock()
	// The workspace closes the listener; until it has it, we do.
	served := false
	defer func() {
		if !served {
			ln.Close()
		}
	}()
	logPath := filepath.Join(o.data, "labbot.log")
	logger, err := newLogger("info", logPath)
	if err != nil {
		return err
	}
	defer func() { _ = logger.Sync() }()

	p.say("demo.begin", "data", o.data)
	cluster, stopCluster, err := demoCluster(ctx, o, p, logger)
	if err != nil {
		return quiet(ctx, err)
	}
	defer stopCluster()
	st, lasting, stopRedis, err := demoRedis(ctx, o, p, logger)
	if err != nil {
		return quiet(ctx, err)
	}
	defer stopRedis()
	defer st.Close()
	if !lasting && o.kubeconfig == "" {
		if err := sweepEmbedded(ctx, cluster, p); err != nil {
			return quiet(ctx, err)
		}
	}

	// The workspace outlives the bot, so that the bot's last words get there.
	wsCtx, stopWorkspace := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorkspace()
	ws, err := workspace.New(workspaceOptions(ln, o.data, lang, library{registry}.infos(), logger))
	if err != nil {
		return err
	}
	served = true
	wsDone := make(chan error, 1)
	go func() { wsDone <- ws.Run(wsCtx) }()

	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return serveParts(gctx, parts{
			lang: lang, store: st, cluster: cluster, owner: owner("demo"), logger: logger,
			slack: slackapi.Options{BotToken: demoBotToken, AppToken: demoAppToken, URL: ws.URL() + "/api/", Logger: logger},
		})
	})
	g.Go(func() error {
		select {
		case err := <-wsDone:
			return fmt.Errorf("workspace: %w", errors.Join(err, errors.New("it has stopped")))
		case <-gctx.Done():
			return nil
		}
	})
	if err := awaitConnected(gctx, ws); err != nil && ctx.Err() == nil && gctx.Err() == nil {
		return err
	}
	if gctx.Err() == nil {
		p.ready(ws.URL(), logPath)
		if !o.noBrowser {
			openPage(ws.URL(), logger)
		}
	}
	err = g.Wait()
	if ctx.Err() != nil {
		p.say("demo.stopping")
	}
	return quiet(ctx, err)
}

// quiet turns what an interrupt caused into success.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

// claim takes the port and the data folder, so that a second demo says so and
// changes nothing.
func claim(o demoOptions, lang lab.Lang) (net.Listener, func(), error) {
	host, _, err := net.SplitHostPort(o.addr)
	if err != nil {
		return nil, nil, fmt.Errorf("--addr %q: %w", o.addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, nil, errors.New(text.T(lang, "demo.not-loopback", "addr", o.addr))
	}
	if err := os.MkdirAll(o.data, 0o700); err != nil {
		return nil, nil, fmt.Errorf("data folder: %w", err)
	}
	lock := flock.New(filepath.Join(o.data, "lock"))
	got, err := lock.TryLock()
	if err != nil {
		return nil, nil, fmt.Errorf("data folder: %w", err)
	}
	if !got {
		return nil, nil, errors.New(text.T(lang, "demo.data-in-use", "data", o.data))
	}
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", o.addr)
	if err != nil {
		_ = lock.Unlock()
		return nil, nil, errors.New(text.T(lang, "demo.port-in-use", "addr", o.addr, "error", err.Error()))
	}
	return ln, func() { _ = lock.Unlock() }, nil
}

// connectTime bounds the bot's way into its own workspace.
const connectTime = 20 * time.Second

func awaitConnected(ctx context.Context, ws *workspace.Server) error {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if connected(ctx, ws.URL()) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the bot did not connect to the workspace within %s", connectTime)
		case <-tick.C:
		}
	}
}

// connected asks the workspace as anybody can.
func connected(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/_workspace/health", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var h struct {
		Connected bool `json:"app_connected"`
	}
	return json.NewDecoder(resp.Body).Decode(&h) == nil && h.Connected
}

func openPage(url string, logger *zap.Logger) {
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" && headless() {
		return
	}
	if err := browser.OpenURL(url); err != nil {
		logger.Info("no browser opened", zap.Error(err))
	}
}

// printer writes to the terminal of whoever started the demo.
type printer struct {
	out  io.Writer
	lang lab.Lang
}

func (p printer) say(key string, args ...any) {
	fmt.Fprintln(p.out, text.T(p.lang, key, args...))
}

func (p printer) ready(url, logPath string) {
	fmt.Fprintf(p.out, "\n%s\n\n", text.T(p.lang, "demo.ready", "url", url, "log", logPath))
}

// openCluster opens the cluster of a kubeconfig, or the one that the bot is a Pod of.
func openCluster(kubeconfig, kubeContext string) (*k8s.Cluster, error) {
	inCluster := kubeconfig == "" && os.Getenv("KUBERNETES_SERVICE_HOST") != ""
	return k8s.Open(k8s.Options{Kubeconfig: kubeconfig, Context: kubeContext, InCluster: inCluster, Version: version})
}
