package step

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
)

// press sends keys and lets what they start run to its end.
func press(t *testing.T, s *model, names ...string) (quit bool) {
	t.Helper()
	for _, n := range names {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(n)}
		switch n {
		case "enter":
			msg = tea.KeyMsg{Type: tea.KeyEnter}
		case "esc":
			msg = tea.KeyMsg{Type: tea.KeyEsc}
		case "backspace":
			msg = tea.KeyMsg{Type: tea.KeyBackspace}
		case " ":
			msg = tea.KeyMsg{Type: tea.KeySpace, Runes: []rune(" ")}
		}
		_, cmd := s.Update(msg)
		if cmd != nil {
			next := cmd()
			if _, ok := next.(tea.QuitMsg); ok {
				return true
			}
			_, cmd = s.Update(next)
			if cmd != nil {
				if _, ok := cmd().(tea.QuitMsg); ok {
					return true
				}
			}
		}
	}
	return false
}

// TestScreen: keys move the machine, the prompt takes commands, errors are shown
// and the screen fits.
func TestScreen(t *testing.T) {
	s := newModel(start(t))
	at := s.m.State().Cycle
	press(t, s, " ", "c")
	if s.m.State().Cycle != at+2 {
		t.Errorf("two keys lead from %d to %d", at, s.m.State().Cycle)
	}
	press(t, s, "i")
	if v := s.View(); !strings.Contains(v, "issued") || !strings.Contains(v, "matrix pipe") || !strings.Contains(v, "space cycle") {
		t.Errorf("the screen is\n%s", v)
	}
	press(t, s, "b")
	if !s.m.State().Released {
		t.Error("b does not lead to a barrier")
	}
	press(t, s, ":", "b", "r", "e", "a", "k", " ", "w", "a", "v", "e", " ", "9", "enter")
	if v := s.View(); !strings.Contains(v, "0 to 7") {
		t.Errorf("no error is shown:\n%s", v)
	}
	press(t, s, ":", "break wave 22", "backspace", "enter")
	if v := s.View(); !strings.Contains(v, "breakpoints  wave 2") {
		t.Errorf("no breakpoint is shown:\n%s", v)
	}
	press(t, s, "g")
	if !strings.Contains(s.m.State().Why, "wave 2") {
		t.Errorf("stopped for %q", s.m.State().Why)
	}
	press(t, s, ":", "x", "esc", "?")
	if v := s.View(); !strings.Contains(v, "advance to a breakpoint") {
		t.Error("no help is shown")
	}
	s.Update(tea.WindowSizeMsg{Width: 40, Height: 12})
	lines := strings.Split(s.View(), "\n")
	if len(lines) > 12 {
		t.Errorf("%d lines on a screen of 12", len(lines))
	}
	for _, l := range lines {
		if len([]rune(l)) > 40 {
			t.Errorf("%q is wider than 40", l)
		}
	}
	if !press(t, s, "q") {
		t.Error("q does not leave")
	}
	if !press(t, newModel(start(t)), ":", "quit", "enter") {
		t.Error("quit does not leave")
	}
}
