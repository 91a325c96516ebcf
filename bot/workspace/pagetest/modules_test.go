package pagetest

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// The page's parsing is tested in Node, where it needs no browser.
func TestModules(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node found: the parsing of mrkdwn is not tested")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, node, "--test", "mrkdwn.test.mjs").CombinedOutput(); err != nil {
		t.Errorf("node --test: %v\n%s", err, out)
	}
}
