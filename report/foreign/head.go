package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

const (
	headSize = 64 << 10  // bytes in which the first object of most files ends
	largest  = 256 << 20 // bytes of a file that a search for runs reads: the detailed results of 20,000 requests fit
)

const resultsHint = "\nhint: bench reads its own run directories and <row>.json files, recordings of bench trace record, and results of vllm bench serve, SGLang, guidellm, aiperf, genai-bench and llm-d (Benchmark Report 0.2, *.yaml)"

// readResult reads a file. It reads only the head of a file whose first object is of no tool, such as a long trace.
func readResult(files fs.FS, file, shown string) ([]byte, error) {
	f, err := files.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, headSize))
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	if object := firstObject(head); object != nil && !strings.HasPrefix(object.text("schema"), "bench/") {
		if _, err := toolOf(object); err != nil {
			return nil, fmt.Errorf("reading %s: %w%s", shown, err, resultsHint)
		}
	}
	rest, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	return append(head, rest...), nil
}

// firstObject is nil if it is not whole, or the text begins with something else.
func firstObject(head []byte) object {
	d := json.NewDecoder(bytes.NewReader(pythonNumbers(head)))
	if bytes.HasPrefix(bytes.TrimSpace(head), []byte("[")) {
		if _, err := d.Token(); err != nil {
			return nil
		}
	}
	var first object
	if d.Decode(&first) != nil {
		return nil
	}
	return first
}

func tooLarge(files fs.FS, name string) error {
	info, err := fs.Stat(files, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (info.IsDir() || info.Size() <= largest) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading results: %w", err)
	}
	return fmt.Errorf("%d MiB: a search for runs reads files up to %d MiB\nhint: compare it by name: bench compare BASE NEW", info.Size()>>20, largest>>20)
}
