package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"bench/experiment/endpoint"
)

// learning keeps what is learnt of a tokenizer in the user's cache directory. A file that cannot be read or written
// costs the requests that it would have saved, no more.
func (c *cli) learning() *endpoint.Learning {
	l := &endpoint.Learning{Progress: func(requests int) {
		fmt.Fprintf(c.stderr, "learning the tokenizer: %d of ~100 requests\n", requests)
	}}
	dir, err := os.UserCacheDir()
	if err != nil {
		return l
	}
	file := func(identity string) string {
		sum := sha256.Sum256([]byte(identity))
		return filepath.Join(dir, "bench", "words-"+hex.EncodeToString(sum[:8])+".json")
	}
	l.Words = func(identity string) (words []string) {
		text, err := os.ReadFile(file(identity))
		if err != nil || json.Unmarshal(text, &words) != nil {
			return nil
		}
		return words
	}
	l.Keep = func(identity string, words []string) {
		name := file(identity)
		if os.MkdirAll(filepath.Dir(name), 0o755) == nil {
			_ = writeWhole(name, func(w io.Writer) error { return json.NewEncoder(w).Encode(words) })
		}
	}
	return l
}
