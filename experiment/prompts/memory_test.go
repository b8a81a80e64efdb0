package prompts

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A file's text does not stay in memory: what is left of it is its index.
func TestMemoryOfAnIndex(t *testing.T) {
	const n, size = 20_000, 2_000
	name := filepath.Join(t.TempDir(), "p.jsonl")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("word ", size/5)
	for i := range n {
		fmt.Fprintf(f, `{"prompt":"%d %s","category":"c%d"}`+"\n", i, text, i%7)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	x, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if grown := int64(held()) - int64(before); grown > 100*n { // 48 bytes an entry, and what a growing slice has to spare
		t.Errorf("%d prompts of %d bytes hold %d bytes", n, size, grown)
	}
	runtime.KeepAlive(x)
}
