package main

import (
	"net"
	"os"
	"path/filepath"
	"runtime"

	"go.uber.org/zap"

	"labbot/bot/board"
	"labbot/bot/lab"
	"labbot/bot/text"
	"labbot/bot/workspace"
)

// The demo's tokens open nothing but the workspace on this machine.
const (
	demoBotToken = "xoxb-demo-local-workspace"
	demoAppToken = "xapp-demo-local-workspace"
)

func workspaceOptions(ln net.Listener, data string, lang lab.Lang, infos []board.ScenarioInfo, logger *zap.Logger) workspace.Options {
	return workspace.Options{
		Listener:  ln,
		StateFile: filepath.Join(data, "workspace.json"),
		Logger:    logger,
		App: workspace.App{
			Name: "labbot", BotToken: demoBotToken, AppToken: demoAppToken,
			Description: text.T(lang, "demo.app"),
			Commands: []workspace.Command{{
				Name: "/lab", Description: text.T(lang, "demo.command"), UsageHint: "[break-image | list | help]",
				Escape: true, Completions: completions(lang, infos),
			}},
		},
	}
}

// completions are the words that the page offers after "/lab ".
func completions(lang lab.Lang, infos []board.ScenarioInfo) []workspace.Completion {
	var out []workspace.Completion
	for _, s := range infos {
		out = append(out, workspace.Completion{Text: s.ID, Description: s.Title.In(lang)})
	}
	for _, verb := range []string{"help", "list", "status", "stop", "cleanup"} {
		out = append(out, workspace.Completion{Text: verb, Description: text.T(lang, "demo.verb-"+verb)})
	}
	return out
}

// headless tells whether a missing display means that there is no browser.
func headless() bool { return runtime.GOOS == "linux" && os.Getenv("BROWSER") == "" }
