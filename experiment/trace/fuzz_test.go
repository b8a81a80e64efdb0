package trace

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var placedError = regexp.MustCompile(`^fuzz:(\d+:)? `)

// fuzz reads any bytes as a format (empty: whichever they look like): requests that come are sound, and an
// error names its place.
func fuzz(f *testing.F, format string) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o := Options{File: "fuzz", Format: format, CapInput: 1 << 20}
		r, err := New(strings.NewReader(string(text)), o, rand.New(rand.NewPCG(1, 2)))
		if err != nil {
			sound(t, err)
			return
		}
		defer r.Close()
		if len(text)%2 == 1 {
			fuzzSessions(t, r, o)
			return
		}
		last := time.Duration(0)
		for {
			e, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				sound(t, err)
				return
			}
			if e.Input < 1 || e.Input > o.CapInput || e.Output < 1 || e.Output > maxTokens || e.At < last || e.Line < 1 || e.Session < 0 || e.Turn < 0 {
				t.Fatalf("unsound: %+v", e)
			}
			if err := checkBlocks(&e, r.Info.BlockTokens); err != nil {
				t.Fatal(err)
			}
			last = e.At
		}
	})
}

// fuzzSessions reads sessions: what comes is a graph without cycles.
func fuzzSessions(t *testing.T, r *Reader, o Options) {
	at := time.Duration(0)
	for n := 0; ; n++ {
		s, err := r.NextSession()
		if err == io.EOF {
			return
		}
		if err != nil {
			sound(t, err)
			return
		}
		if s.Number != n || s.At < at || len(s.Nodes) == 0 || s.Nodes[0].At != 0 {
			t.Fatalf("unsound: %+v", s)
		}
		at = s.At
		for i, e := range s.Nodes {
			if e.Input < 1 || e.Input > o.CapInput || e.Output < 1 || e.Wait < 0 || e.Took < 0 || e.Agent < 0 || e.Cached < 0 || e.Cached > e.Input {
				t.Fatalf("unsound: %+v", e)
			}
			if i > 0 && e.At < s.Nodes[i-1].At || i > 0 && len(e.Parents) > 0 && (e.Parents[0] < 0 || e.Parents[len(e.Parents)-1] >= i) {
				t.Fatalf("node %d: %+v", i, e)
			}
			if err := checkBlocks(&e.Entry, r.Info.BlockTokens); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func sound(t *testing.T, err error) {
	if !placedError.MatchString(err.Error()) {
		t.Fatalf("no place in %q", err)
	}
}

func FuzzAny(f *testing.F)      { fuzz(f, "") }
func FuzzMooncake(f *testing.F) { fuzz(f, formatMooncake) }
func FuzzAzure(f *testing.F)    { fuzz(f, formatAzure) }
func FuzzBurstGPT(f *testing.F) { fuzz(f, formatBurstGPT) }
func FuzzShareGPT(f *testing.F) { fuzz(f, formatShareGPT) }
func FuzzLog(f *testing.F)      { fuzz(f, formatLog) }
func FuzzWeka(f *testing.F)     { fuzz(f, formatWeka) }
func FuzzOTel(f *testing.F)     { fuzz(f, formatOTel) }
func FuzzNative(f *testing.F)   { fuzz(f, formatNative) }
