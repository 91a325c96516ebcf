// Package pagetest drives the workspace's page in headless Chromium, against
// the real workspace and a small app that speaks Slack's protocol.
//
// Without Chromium the tests are skipped with a line that says so, unless
// LABBOT_REQUIRE_CHROMIUM is set. LABBOT_SCREENSHOTS names a folder for the
// pictures the tests take.
package pagetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const patience = 30 * time.Second

// browser is the one Chromium of this test run.
var browser context.Context

func TestMain(m *testing.M) {
	path := chromium()
	if path == "" {
		os.Exit(m.Run())
	}
	// The flags keep a Chromium run by root, without a desktop, quiet.
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true))
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, stop := chromedp.NewContext(alloc)
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "start chromium:", err)
		os.Exit(1)
	}
	browser = ctx
	code := m.Run()
	stop()
	stopAlloc()
	os.Exit(code)
}

func chromium() string {
	for _, name := range []string{os.Getenv("LABBOT_CHROMIUM"), "/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// tab is one page open as one person.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	trouble  []string // console errors and exceptions
	requests []string
	quiet    bool // trouble is expected
}

type look struct {
	width, height int64
	dark          bool
	path          string
}

var (
	laptop = look{width: 1280, height: 800}
	phone  = look{width: 390, height: 844}
)

// open shows the page of the app's workspace in a fresh browser profile.
func open(t *testing.T, a *app, l look) *tab {
	t.Helper()
	if browser == nil {
		if os.Getenv("LABBOT_REQUIRE_CHROMIUM") != "" {
			t.Fatal("no chromium found, and LABBOT_REQUIRE_CHROMIUM is set")
		}
		t.Skip("no chromium found: install it, or name it in LABBOT_CHROMIUM, to test the page")
	}
	p := &tab{t: t}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.listen))
	p.ctx = ctx
	t.Cleanup(func() {
		cancel()
		p.checkTrouble()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	size := []chromedp.EmulateViewportOption{}
	if l.width < 500 {
		size = append(size, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	p.run(
		chromedp.EmulateViewport(l.width, l.height, size...),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}),
		command(emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en-US"}),
		chromedp.Navigate(a.space.URL()+l.path),
	)
	p.wait(`document.body.classList.contains("ready")`)
	return p
}

// command makes an action of a protocol command whose answer is empty.
func command[P any](c cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

func (p *tab) listen(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		p.trouble = append(p.trouble, "exception: "+describe(ev.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if ev.Type == "error" {
			p.trouble = append(p.trouble, "console: "+string(ev.Args[0].Value))
		}
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, ev.Request.URL)
	case *page.EventJavascriptDialogOpening:
		p.trouble = append(p.trouble, "dialog: "+ev.Message)
	}
}

func describe(d *runtime.ExceptionDetails) string {
	if d.Exception != nil {
		return d.Text + " " + d.Exception.Description
	}
	return d.Text
}

func (p *tab) checkTrouble() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.trouble) > 0 && !p.quiet {
		p.t.Errorf("the page had trouble:\n%s", strings.Join(p.trouble, "\n"))
	}
}

func (p *tab) run(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.snap("failed")
		p.t.Fatalf("browser: %v", err)
	}
}

// wait asks a JavaScript condition again and again until it holds. The page's
// security policy forbids code made of text, so polling is done from here.
func (p *tab) wait(condition string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		yes, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+condition+")"))
		if err == nil && yes {
			return
		}
		select {
		case <-ctx.Done():
			p.snap("failed")
			p.t.Fatalf("wait for %s: not within %s (last error: %v)\n%.1500s", condition, patience, err, p.text("body"))
		case <-tick.C:
		}
	}
}

// see waits until the element holds the text.
func (p *tab) see(selector, text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((el) => el.textContent.includes(%q))`, selector, text))
}

// gone waits until nothing matches.
func (p *tab) gone(selector string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`!document.querySelector(%q)`, selector))
}

// eval runs a statement in the page.
func (p *tab) eval(js string) {
	p.t.Helper()
	p.ask("(() => {" + js + "; return true; })()")
}

// is tells whether a condition holds now.
func (p *tab) is(condition string) bool {
	p.t.Helper()
	return p.ask("Boolean(" + condition + ")")
}

func (p *tab) ask(js string) bool {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	yes, err := chromedp.Run(ctx, chromedp.Evaluate[bool](js))
	if err != nil {
		p.t.Fatalf("evaluate %s: %v", js, err)
	}
	return yes
}

func (p *tab) text(selector string) string {
	ctx, cancel := context.WithTimeout(p.ctx, 2*time.Second)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector)))
	if err != nil {
		return "(no text: " + err.Error() + ")"
	}
	return out
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.run(chromedp.Click(chromedp.CSS(selector)))
}

// write puts text at the end of a field, as an input method does.
func (p *tab) write(selector, text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`document.querySelector(%q)`, selector))
	p.eval(fmt.Sprintf(`const el = document.querySelector(%q); el.focus(); el.setSelectionRange(el.value.length, el.value.length)`, selector))
	p.run(command(input.InsertText, input.InsertTextParams{Text: text}))
}

type key struct {
	name, text string
	code       int64
}

var (
	enter  = key{"Enter", "\r", 13}
	tabKey = key{"Tab", "", 9}
	escape = key{"Escape", "", 27}
)

// key presses and lets go of one key, in one event each as a keyboard does:
// what the page prevents on the way down then has no effect.
func (p *tab) key(k key) {
	p.t.Helper()
	press := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyDown, Key: k.name, Code: k.name, Text: k.text,
		WindowsVirtualKeyCode: k.code, NativeVirtualKeyCode: k.code,
	}
	release := press
	release.Type, release.Text = input.DispatchKeyEventTypeKeyUp, ""
	p.run(command(input.DispatchKeyEvent, press), command(input.DispatchKeyEvent, release))
}

// snap keeps a screenshot when a folder for them is given.
func (p *tab) snap(name string) {
	dir := os.Getenv("LABBOT_SCREENSHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return
	}
	file := strings.ReplaceAll(p.t.Name(), "/", "-") + "-" + name + ".png"
	if err := os.WriteFile(filepath.Join(dir, file), png, 0o644); err != nil {
		p.t.Logf("keep a screenshot: %v", err)
	}
}
