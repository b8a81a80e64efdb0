package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bench/experiment/hostile"
)

// TestHostileServers sweeps each server: it ends, and neither the terminal nor a file has its text as it is, or the key.
func TestHostileServers(t *testing.T) {
	const matrix = `name = "h"
[target]
endpoint = "http://%s"
timeout = "1s"
[[row]]
name = "a"
input = 16
output = 4
concurrency = 2
requests = 4
`
	for _, c := range hostile.Cases() {
		if c.Kind != hostile.Server {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			served := make(chan error, 1)
			go func() { served <- c.Serve(ctx, l) }()
			defer func() {
				cancel()
				<-served
			}()
			file := filepath.Join(dir, "m.toml")
			if err := os.WriteFile(file, fmt.Appendf(nil, matrix, l.Addr()), 0o644); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			began := time.Now()
			code := bench(t.Context(), strings.NewReader(""), &out, &errs,
				[]string{"sweep", file, "--out", filepath.Join(dir, "out"), "--api-key", "sk-hostile-key"})
			if took := time.Since(began); took > time.Minute || code != 0 && code != codeFailed {
				t.Errorf("exit code %d after %v: %s", code, took, &errs)
			}
			found := map[string][]byte{"stdout": out.Bytes(), "stderr": errs.Bytes()}
			err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					found[name], err = os.ReadFile(filepath.Join(dir, name))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range found {
				bad := []string{"\x1b[31m" + hostile.Mark, "sk-hostile-key"}
				switch {
				case strings.HasSuffix(name, ".html"):
					bad = append(bad, "</script><script>alert")
				case !strings.HasSuffix(name, ".json"):
					bad = append(bad, "\u202e")
				}
				for _, bad := range bad {
					if bytes.Contains(text, []byte(bad)) {
						t.Errorf("%s has %q", name, bad)
					}
				}
			}
		})
	}
}
