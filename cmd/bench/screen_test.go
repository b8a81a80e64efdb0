package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/sweep"
	"bench/sweep/live"
	"bench/sweep/matrix"
)

// grid is a terminal with the escapes that the live view uses. Any other escape is an error.
type grid struct {
	t     *testing.T
	lines []string
	x, y  int // a line is written at once, from its beginning
	rest  string
}

func (g *grid) Write(p []byte) (int, error) {
	s := g.rest + string(p)
	for g.rest = ""; s != ""; {
		switch {
		case s[0] == '\r':
			g.x, s = 0, s[1:]
		case s[0] == '\n':
			g.y++
			s = s[1:]
		case strings.HasPrefix(s, "\x1b[K"):
			if g.at(g.y); g.x == 0 {
				g.lines[g.y] = ""
			}
			s = s[3:]
		case strings.HasPrefix(s, "\x1b["):
			end := strings.IndexAny(s, "AJhlm")
			if end < 0 {
				g.rest = s
				return len(p), nil
			}
			g.escape(s[2:end], s[end])
			s = s[end+1:]
		default:
			end := strings.IndexAny(s, "\r\n\x1b")
			if end < 0 {
				end = len(s)
			}
			g.put(s[:end])
			s = s[end:]
		}
	}
	return len(p), nil
}

// put appends to what was written since the line's beginning, which replaces the old line.
func (g *grid) put(s string) {
	if g.at(g.y); g.x == 0 {
		g.lines[g.y] = ""
	}
	g.lines[g.y] += s
	g.x += len(s)
}

func (g *grid) at(y int) {
	for len(g.lines) <= y {
		g.lines = append(g.lines, "")
	}
}

func (g *grid) escape(args string, do byte) {
	switch {
	case do == 'A':
		up, err := strconv.Atoi(args)
		if g.y -= up; err != nil || g.y < 0 {
			g.t.Errorf("up %s leaves the screen", args)
			g.y = 0
		}
	case do == 'J' && args == "":
		if len(g.lines) > g.y {
			g.lines = g.lines[:g.y]
		}
	case do == 'm':
		g.put("\x1b[" + args + "m")
	case args == "?2026" && (do == 'h' || do == 'l'):
	default:
		g.t.Errorf("an escape that would have to be undone: %q", args+string(do))
	}
}

func (g *grid) String() string { return strings.TrimRight(strings.Join(g.lines, "\n"), "\n") }

// A frame replaces the last one below the lines that stay, and is removed at the end.
func TestLiveOnAScreen(t *testing.T) { synctest.Test(t, liveOnAScreen) }

func liveOnAScreen(t *testing.T) {
	g := &grid{t: t}
	width := 60
	var writes int
	view := &live.View{
		W:    writerFunc(func(p []byte) (int, error) { writes++; return g.Write(p) }),
		Size: func() (int, int) { return width, 20 }, Every: time.Second,
	}
	points := []experiment.Spec{{Name: "a", Repeat: 1}, {Name: "b", Repeat: 1}}
	l := live.NewSweep(view, &matrix.Matrix{Name: "m", Points: points}, nil, false)
	l.Event(sweep.Event{Started: &sweep.Started{Dir: "results/m/1", Total: 2}})
	time.Sleep(3 * time.Second) // three frames
	synctest.Wait()
	if got := g.String(); !strings.HasPrefix(got, "results go to results/m/1\n\nm  0 of 2 rows done") || strings.Count(got, "rows done") != 1 || writes != 4 {
		t.Errorf("%d writes:\n%s", writes, got)
	}
	fmt.Fprint(view, "note: one\nnote: tw")
	fmt.Fprint(view, "o\n")
	l.Event(sweep.Event{Finished: &sweep.RowEvent{Index: 1, Total: 2, Kept: true, Row: &record.Row{ID: "a-r1", Spec: experiment.Spec{Name: "a"}}}})
	if got := g.String(); !strings.HasPrefix(got, "results go to results/m/1\nnote: one\nnote: two\n1/2  a  kept\n\nm  1 of 2 rows done") {
		t.Errorf("lines above the frame:\n%s", got)
	}
	fmt.Fprint(view, "the last words")
	view.Stop()
	if got, want := g.String(), "results go to results/m/1\nnote: one\nnote: two\n1/2  a  kept\nthe last words"; got != want {
		t.Errorf("at the end:\n%s", got)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
