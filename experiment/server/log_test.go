package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"\n \n":                              "",
		"a\nb":                               "b",
		"a\nloading  10 %\rloading  20 %\r":  "loading 20 %",
		strings.Repeat("x", 5000):            strings.Repeat("x", 4096),
		strings.Repeat("x\n", 5000) + " y\n": "y",
	} {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if got := LastLine(log); got != want {
			t.Errorf("%.20q: %.20q, want %.20q", text, got, want)
		}
		log.Close()
		if got := LastLine(log); got != "" {
			t.Errorf("of a closed log: %q", got)
		}
	}
}
