package html_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a page in headless Chromium that notes every error of its console.
type browser struct {
	ctx context.Context
	t   *testing.T
	mu  sync.Mutex
	bad []string
}

// The tests share one Chromium, each with a tab of its own.
var (
	started sync.Once
	shared  context.Context
	stopAll context.CancelFunc = func() {}
)

func TestMain(m *testing.M) {
	code := m.Run()
	stopAll()
	os.Exit(code)
}

func chromium(t *testing.T, path string) context.Context {
	started.Do(func() {
		opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
			chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"))
		alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
		var stopBrowser context.CancelFunc
		shared, stopBrowser = chromedp.NewContext(alloc)
		stopAll = func() { stopBrowser(); stop() }
		if err := chromedp.Do(shared); err != nil {
			t.Fatal(err)
		}
	})
	return shared
}

// open shows a page in Chromium. Without Chromium the test is skipped, unless
// REQUIRE_CHROMIUM is set, as the gate does.
func open(t *testing.T, page, tab string, width, height int) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("REQUIRE_CHROMIUM") != "" {
			t.Fatal("REQUIRE_CHROMIUM is set, and there is no chromium")
		}
		t.Skip("there is no chromium")
	}
	ctx, stopPage := chromedp.NewContext(chromium(t, path))
	ctx, stopTime := context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(func() { stopTime(); stopPage() })
	b := &browser{ctx: ctx, t: t}
	err := chromedp.Listen(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.bad = append(b.bad, e.ExceptionDetails.Text+" "+exception(e.ExceptionDetails))
		case *runtime.EventConsoleAPICalled:
			if e.Type == "error" || e.Type == "warning" {
				b.bad = append(b.bad, fmt.Sprint(e.Args))
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError {
				b.bad = append(b.bad, e.Entry.Text)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	abs, err := filepath.Abs(page)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		t.Fatal(err)
	}
	b.run(chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate("file://"+abs+"#"+tab), chromedp.Poll[chromedp.Void]("window.whisker !== undefined"))
	return b
}

func (b *browser) run(a ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, a...); err != nil {
		b.t.Fatal(err, b.errors())
	}
}

// js evaluates an expression.
func js[T any](b *browser, expr string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expr))
	if err != nil {
		b.t.Fatal(expr, err, b.errors())
	}
	return v
}

func (b *browser) errors() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.bad, "; ")
}

// shot saves a screenshot when WHISKER_SHOTS names a folder to look at them.
func (b *browser) shot(name string) {
	dir := os.Getenv("WHISKER_SHOTS")
	if dir == "" {
		return
	}
	b.run(chromedp.Sleep(300 * time.Millisecond))
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func exception(d *runtime.ExceptionDetails) string {
	if d.Exception != nil {
		return d.Exception.Description
	}
	return d.URL
}

// click clicks the first element of a selector.
func click(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.CSS(selector))
}

// busy is the processor time that the page's thread has taken, in seconds.
func (b *browser) busy() float64 {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, m := range r.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value
		}
	}
	b.t.Fatal("the browser does not tell its processor time")
	return 0
}
