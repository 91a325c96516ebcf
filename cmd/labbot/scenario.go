package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"labbot/bot/lab"
	"labbot/bot/run"
	"labbot/bot/store"
	"labbot/bot/text"
	"labbot/scenarios"
	"labbot/scenarios/engine"
)

func scenarioCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "scenario", Short: "List, check and run scenarios, for their authors"}
	lang := cmd.PersistentFlags().String("lang", "en", "language: ru or en")
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "The scenarios of this build", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return scenarioList(cmd.OutOrStdout(), *lang) }},
		&cobra.Command{Use: "lint FILE...", Short: "Check scenario files: what is wrong, and where", Args: cobra.MinimumNArgs(1),
			RunE: func(cmd *cobra.Command, files []string) error { return scenarioLint(cmd.OutOrStdout(), *lang, files) }},
		scenarioRunCommand(lang),
	)
	return cmd
}

func scenarioList(out io.Writer, tag string) error {
	lang, err := lab.ParseLang(tag)
	if err != nil {
		return err
	}
	registry, err := scenarios.Library()
	if err != nil {
		return err
	}
	for _, p := range registry.List() {
		fmt.Fprintf(out, "%-20s %-8s %s\n", p.Name(), p.Module(), p.Title().In(lang))
	}
	return nil
}

// scenarioLint reports every problem of every file, and fails when there is any.
func scenarioLint(out io.Writer, tag string, files []string) error {
	lang, err := lab.ParseLang(tag)
	if err != nil {
		return err
	}
	bad := 0
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		problems := engine.Lint(f, raw)
		for _, p := range problems {
			fmt.Fprintln(out, p.In(f, lang))
		}
		bad += len(problems)
		if len(problems) == 0 {
			fmt.Fprintln(out, text.T(lang, "scenario-cli.good", "file", f))
		}
	}
	if bad > 0 {
		return errors.New(text.N(lang, "scenario-cli.bad", bad))
	}
	return nil
}

type scenarioRunOptions struct {
	kubeconfig, context, lang string
	params                    []string
	in                        io.Reader
	out                       io.Writer
}

func scenarioRunCommand(lang *string) *cobra.Command {
	o := scenarioRunOptions{}
	cmd := &cobra.Command{
		Use:   "run NAME|FILE",
		Short: "Run a scenario on a cluster, drawn in this terminal",
		Long: `Run a scenario as the bot does, without Slack: the board and the thread are
drawn here. While the class would repair, type a button's name (rollback, hint,
stop), or repair it with kubectl.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.lang, o.in, o.out = *lang, cmd.InOrStdin(), cmd.OutOrStdout()
			return scenarioRun(cmd.Context(), args[0], o)
		},
	}
	cmd.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "the cluster to run on")
	cmd.Flags().StringVar(&o.context, "context", "", "context of the kubeconfig (default: its current one)")
	cmd.Flags().StringArrayVar(&o.params, "param", nil, "name=value, may be repeated")
	_ = cmd.MarkFlagRequired("kubeconfig") // the flag is there: defined two lines above
	return cmd
}

// oneFile is a library of the scenario that an author is working on.
type oneFile struct{ p *engine.Program }

func (l oneFile) Program(name string, _ int) (run.Program, error) {
	if name != l.p.Name() {
		return nil, fmt.Errorf("there is no scenario %q here", name)
	}
	return l.p, nil
}

func findScenario(name string) (run.Library, *engine.Program, error) {
	if strings.ContainsAny(name, "./") {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		p, err := engine.Load(name, raw)
		return oneFile{p}, p, err
	}
	registry, err := scenarios.Library()
	if err != nil {
		return nil, nil, err
	}
	p, found := registry.Find(name)
	if !found {
		return nil, nil, fmt.Errorf("there is no scenario %q; the nearest name is %q", name, registry.Nearest(name))
	}
	return library{registry}, p, nil
}

func scenarioRun(ctx context.Context, name string, o scenarioRunOptions) error {
	lang, err := lab.ParseLang(o.lang)
	if err != nil {
		return err
	}
	lib, program, err := findScenario(name)
	if err != nil {
		return err
	}
	params := map[string]string{}
	for _, p := range o.params {
		k, v, ok := strings.Cut(p, "=")
		if !ok {
			return fmt.Errorf("--param %q: want name=value", p)
		}
		params[k] = v
	}
	cluster, err := openCluster(o.kubeconfig, o.context)
	if err != nil {
		return err
	}
	logger := zap.NewNop()
	st, err := store.OpenInProcess(logger)
	if err != nil {
		return err
	}
	defer st.Close()
	term := newTerminal(o.out)
	runner := run.New(run.Deps{Log: st, Queue: st.Queue(), Clusters: map[string]run.Cluster{clusterName: cluster},
		Publisher: term, Library: lib, Logger: logger, Owner: owner("terminal")})
	term.posted = runner.Kick
	defer runner.Close()

	// An interrupt stops the run, not the runner: the cleanup must be proven.
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	g, gctx := errgroup.WithContext(runCtx)
	g.Go(func() error { return runner.Run(gctx) })
	started, err := runner.Start(runCtx, run.StartRequest{Key: string(lab.NewRunID()), Scenario: program.Name(), Params: params,
		Cluster: clusterName, Cohort: "terminal", Channel: "terminal", Lang: lang, StartedBy: "author", CommandAt: time.Now()})
	if err == nil {
		go typeButtons(runCtx, o.in, runner, started.ID, o.out)
		err = waitFor(ctx, runCtx, term, runner, started.ID, lang)
	}
	cancel()
	return errors.Join(err, g.Wait())
}

// interruptTime is how long a cleanup may take after Ctrl+C.
const interruptTime = 3 * time.Minute

func waitFor(ctx, runCtx context.Context, term *terminal, runner *run.Runner, id lab.RunID, lang lab.Lang) error {
	select {
	case <-term.final:
		return nil
	case <-ctx.Done():
	}
	fmt.Fprintln(term.out, text.T(lang, "scenario-cli.interrupted"))
	if err := runner.Input(runCtx, id, engine.Input{ID: "interrupt", Kind: engine.InputStop, By: "author", At: time.Now()}); err != nil {
		return err
	}
	select {
	case <-term.final:
		return nil
	case <-time.After(interruptTime):
		return errors.New(text.T(lang, "scenario-cli.not-clean", "run", string(id)))
	}
}

// typeButtons presses the buttons whose names are typed, one a line.
func typeButtons(ctx context.Context, in io.Reader, runner *run.Runner, id lab.RunID, out io.Writer) {
	sc := bufio.NewScanner(in)
	for n := 0; sc.Scan() && ctx.Err() == nil; n++ {
		word := strings.ToLower(strings.TrimSpace(sc.Text()))
		if word == "" {
			continue
		}
		input := engine.Input{ID: fmt.Sprintf("typed-%d", n), Kind: engine.InputButton, Button: word, By: "author", At: time.Now()}
		switch word {
		case "hint":
			input.Kind = engine.InputHint
		case "stop":
			input.Kind = engine.InputStop
		}
		if err := runner.Input(ctx, id, input); err != nil {
			fmt.Fprintln(out, err)
		}
	}
}
