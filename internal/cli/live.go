package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"syscall"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/term"

	"github.com/trainmedic/trainmedic/internal/report"
)

// screen is where a watch is shown: plain lines, or on a terminal a view that
// stays at the bottom while news scroll above it.
type screen interface {
	show(u *report.Update)
	close()
}

// plain prints the lines of every look. When their reader has gone (watch | head)
// nobody is left to watch for.
type plain struct {
	w    io.Writer
	stop context.CancelFunc
}

func (p plain) show(u *report.Update) {
	for _, l := range append(u.Lines, u.Summary...) {
		if _, err := fmt.Fprintln(p.w, l); errors.Is(err, syscall.EPIPE) {
			p.stop()
			return
		}
	}
}

func (plain) close() {}

// newScreen chooses; stop ends the watch when a person presses Ctrl-C in the view.
func newScreen(ctx context.Context, w io.Writer, stop context.CancelFunc) screen {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(f.Fd()) || os.Getenv("TERM") == "dumb" || !term.IsTerminal(os.Stdin.Fd()) {
		return plain{w, stop}
	}
	l := &live{done: make(chan struct{})}
	l.program = tea.NewProgram(view{width: 80, stop: stop}, tea.WithOutput(f), tea.WithContext(ctx), tea.WithoutSignalHandler())
	go func() {
		defer close(l.done)
		l.program.Run() //nolint:errcheck // it ends with ctx or with quit; the watch goes on without a view
	}()
	return l
}

// live is the view of a terminal.
type live struct {
	program *tea.Program
	done    chan struct{}
}

func (l *live) show(u *report.Update) {
	if len(u.Events) > 0 || u.Poll == 1 {
		l.program.Println(strings.Join(u.Lines, "\n"))
	}
	l.program.Send(u)
}

// close takes the view away and gives the terminal back.
func (l *live) close() {
	l.program.Quit()
	<-l.done
}

// view is what stands at the bottom of the terminal.
type view struct {
	u     *report.Update
	width int
	stop  context.CancelFunc
}

// Init implements tea.Model.
func (v view) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (v view) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case *report.Update:
		v.u = m
	case tea.WindowSizeMsg:
		v.width = m.Width
	case tea.KeyPressMsg:
		if m.String() == "ctrl+c" || m.String() == "q" {
			v.stop()
		}
	}
	return v, nil
}

var (
	faint  = lipgloss.NewStyle().Faint(true)
	alarm  = lipgloss.NewStyle().Foreground(lipgloss.Color("1")).Bold(true)
	notice = lipgloss.NewStyle().Foreground(lipgloss.Color("3"))
	good   = lipgloss.NewStyle().Foreground(lipgloss.Color("2"))
)

// View implements tea.Model.
func (v view) View() tea.View { return tea.NewView(v.text()) }

func (v view) text() string {
	if v.u == nil {
		return faint.Render("looking…") + "\n"
	}
	var b strings.Builder
	wide := max(20, v.width-2)
	for _, l := range v.u.Lines[:min(2, len(v.u.Lines))] {
		b.WriteString(clipTo(l, wide) + "\n")
	}
	if g := v.u.Live; g.Total > 0 && g.Step >= 0 {
		b.WriteString(bar(float64(g.Step)/float64(g.Total), min(60, wide)) + "\n")
	}
	if s := sparkline(v.u.Live.Loss); s != "" {
		b.WriteString("loss " + clipTo(s, wide-5) + "\n")
	}
	if len(v.u.Live.Open) == 0 {
		b.WriteString(good.Render("no anomaly is open") + "\n")
	}
	for _, a := range v.u.Live.Open {
		style := notice
		if a.Grave() {
			style = alarm
		}
		b.WriteString(style.Render(clipTo(fmt.Sprintf("%s (%s): %s", a.Type, report.SeverityTitle(a.Severity), a.Description), wide)) + "\n")
	}
	b.WriteString(faint.Render("q or Ctrl-C ends the watch, not the run") + "\n")
	return b.String()
}

func bar(share float64, width int) string {
	n := int(math.Round(min(1, max(0, share)) * float64(width)))
	return strings.Repeat("█", n) + faint.Render(strings.Repeat("░", width-n))
}

// sparkline draws values in eight heights; one that is not finite is a gap.
func sparkline(v []float64) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, x := range v {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	if lo > hi {
		return ""
	}
	var b strings.Builder
	for _, x := range v {
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0):
			b.WriteByte('?')
		case hi == lo:
			b.WriteRune('▄')
		default:
			b.WriteRune([]rune("▁▂▃▄▅▆▇█")[int(7.99*(x-lo)/(hi-lo))])
		}
	}
	return b.String()
}

func clipTo(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
