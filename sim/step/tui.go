package step

import (
	"errors"
	"fmt"
	"io"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
)

// TUI steps under the hands of a person until they leave.
func TUI(m *Machine, in io.Reader, out io.Writer) error {
	_, err := tea.NewProgram(newModel(m), tea.WithInput(in), tea.WithOutput(out), tea.WithAltScreen()).Run()
	m.Close()
	return err
}

// model is the screen.
type model struct {
	m       *Machine
	typing  bool // a command at the prompt
	input   string
	said    string // what the last command said
	failed  bool
	running bool
	width   int
	height  int
}

func newModel(m *Machine) *model { return &model{m: m, width: 120, height: 40} }

var (
	titleStyle  = lipgloss.NewStyle().Bold(true)
	issuedStyle = lipgloss.NewStyle().Bold(true).Reverse(true)
	waitStyle   = lipgloss.NewStyle().Faint(true)
	errorStyle  = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("1"))
)

// moved tells that the machine stands still again.
type moved struct {
	said string
	err  error
}

// keys are the commands that a key stands for.
var keys = map[string]string{
	" ": "cycle", "c": "cycle", "right": "cycle", "C": "cycle 16", "i": "issue", "b": "barrier", "g": "continue", "d": "delete", "?": "help",
}

func (s *model) Init() tea.Cmd { return nil }

// Update takes a key, a new size, or the end of a step.
func (s *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch e := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = e.Width, e.Height
	case moved:
		s.running, s.said, s.failed = false, e.said, e.err != nil
		if errors.Is(e.err, errQuit) {
			return s, tea.Quit
		}
		if e.err != nil {
			s.said = e.err.Error()
		}
	case tea.KeyMsg:
		return s.key(e)
	}
	return s, nil
}

func (s *model) key(e tea.KeyMsg) (tea.Model, tea.Cmd) {
	k := e.String()
	if k == "ctrl+c" || !s.typing && k == "q" {
		return s, tea.Quit
	}
	if s.running {
		return s, nil
	}
	if !s.typing {
		switch {
		case k == ":":
			s.typing, s.input = true, ""
		case keys[k] != "":
			return s.run(keys[k])
		}
		return s, nil
	}
	switch k {
	case "enter":
		s.typing = false
		return s.run(s.input)
	case "esc":
		s.typing = false
	case "backspace":
		if r := []rune(s.input); len(r) > 0 {
			s.input = string(r[:len(r)-1])
		}
	default:
		if e.Type == tea.KeyRunes || e.Type == tea.KeySpace {
			s.input += string(e.Runes)
		}
	}
	return s, nil
}

// run carries a command out beside the screen, which stays alive.
func (s *model) run(line string) (tea.Model, tea.Cmd) {
	s.running = true
	return s, func() tea.Msg {
		said, _, err := s.m.Command(line)
		return moved{said, err}
	}
}

// View draws the screen. While the machine runs its state must not be read.
func (s *model) View() string {
	var b strings.Builder
	if s.running {
		b.WriteString(titleStyle.Render("running") + "\n")
	} else {
		b.WriteString(s.paint(s.m.Text()))
	}
	b.WriteByte('\n')
	if len(s.m.Breaks) > 0 && !s.running {
		var list []string
		for _, x := range s.m.Breaks {
			list = append(list, x.String())
		}
		fmt.Fprintf(&b, "breakpoints  %s\n", strings.Join(list, ", "))
	}
	if s.said != "" {
		style := lipgloss.NewStyle()
		if s.failed {
			style = errorStyle
		}
		b.WriteString(style.Render(strings.TrimSuffix(s.said, "\n")) + "\n")
	}
	if s.typing {
		fmt.Fprintf(&b, ":%s_\n", s.input)
	} else {
		b.WriteString(waitStyle.Render("space cycle  C 16 cycles  i issue  b barrier  g continue  d delete breakpoints  : command (break pc ADDR)  ? help  q quit") + "\n")
	}
	return s.fit(b.String())
}

// paint marks what issued in this cycle and dims what waits.
func (s *model) paint(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range lines {
		switch {
		case i < 2:
			lines[i] = titleStyle.Render(l)
		case strings.Contains(l, " of wg ") && strings.Contains(l, " issued "):
			lines[i] = issuedStyle.Render(l)
		case strings.Contains(l, " of wg ") && !strings.Contains(l, " ready "):
			lines[i] = waitStyle.Render(l)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// fit cuts the screen to the terminal.
func (s *model) fit(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) > s.height {
		keep := lines[len(lines)-3:]
		lines = append(lines[:max(s.height-3, 0)], keep...)
	}
	cut := lipgloss.NewStyle().MaxWidth(s.width)
	for i := range lines {
		lines[i] = cut.Render(lines[i])
	}
	return strings.Join(lines, "\n")
}
