package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestRowTenths: rows side by side each tell their tenths once, and again when they
// begin anew at another clock.
func TestRowTenths(t *testing.T) {
	var w bytes.Buffer
	tell := rowTenths(&w)
	for _, done := range []int64{5, 11, 12, 25} {
		tell("a", done, 100, done)
		tell("b", done/2, 100, done)
	}
	tell("a", 95, 100, 1)
	tell("a", 12, 100, 2)
	tell("a", 1, 1, 0)
	want := "a: 10 %, cycle 11\na: 20 %, cycle 25\nb: 10 %, cycle 25\na: 90 %, cycle 1\na: 10 %, cycle 2\n"
	if w.String() != want {
		t.Errorf("told\n%swant\n%s", w.String(), want)
	}
}

// TestRowProgress: the bar names the first of the rows under way, and a logged line
// begins at the start of its own.
func TestRowProgress(t *testing.T) {
	var w bytes.Buffer
	update, log, stop := rowProgress(&w)
	update("first", 10, 100, 0)
	update("second", 10, 100, 0)
	log.Write([]byte("first: done\n"))
	update("first", 1, 1, 0)
	update("second", 1, 1, 0)
	stop()
	s := w.String()
	i := strings.Index(s, "first: done\n")
	if i < 1 || s[i-1] != '\r' || !strings.Contains(s, "first") {
		t.Errorf("written: %q", s)
	}
}
