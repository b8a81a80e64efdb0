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

func sound(t *testing.T, err error) {
	if !placedError.MatchString(err.Error()) {
		t.Fatalf("no place in %q", err)
	}
}

func FuzzAny(f *testing.F)      { fuzz(f, "") }
func FuzzMooncake(f *testing.F) { fuzz(f, Mooncake) }
func FuzzAzure(f *testing.F)    { fuzz(f, Azure) }
func FuzzBurstGPT(f *testing.F) { fuzz(f, BurstGPT) }
func FuzzBailian(f *testing.F)  { fuzz(f, Bailian) }
func FuzzShareGPT(f *testing.F) { fuzz(f, ShareGPT) }
func FuzzLog(f *testing.F)      { fuzz(f, Log) }
func FuzzNative(f *testing.F)   { fuzz(f, Native) }
