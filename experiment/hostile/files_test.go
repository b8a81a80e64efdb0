package hostile_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"bench/experiment/hostile"
	"bench/experiment/trace"
)

// TestFiles reads each file as a trace: to its end or to an error, soon, in bounded memory. These have no error.
func TestFiles(t *testing.T) {
	memory(t, 768<<20)
	fine := map[string]bool{"trace-text": true, "trace-bad-utf8": true}
	for _, c := range ofKind(hostile.File) {
		from, into := io.Pipe()
		go func() { _ = into.CloseWithError(c.Write(into)) }()
		began := time.Now()
		r, err := trace.New(from, trace.Options{File: "x"}, nil)
		for err == nil {
			_, err = r.Next()
		}
		if ended := errors.Is(err, io.EOF); ended != fine[c.Name] {
			t.Errorf("%s: %.200v", c.Name, err)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: it took %v", c.Name, took)
		}
		_ = from.Close()
	}
}
