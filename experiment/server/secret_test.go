package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMaskFile: secrets on all sides of a buffer's border are masked, and nothing else changes.
func TestMaskFile(t *testing.T) {
	secrets := Secrets{"sk-correct-horse", "battery", "teryx", "abcabc", "xyz", ""} // xyz is too short
	const plain = "no secret: xyz\n"
	for _, at := range []int{
		0, 1, maskBytes - 17, maskBytes - 16, maskBytes - 15, maskBytes - 8, maskBytes - 1,
		maskBytes, maskBytes + 1, 3*maskBytes - 5,
	} {
		before := strings.Repeat(plain, at/len(plain)+1)[:at]
		for text, want := range map[string]string{
			"sk-correct-horse": "****************", "batteryx": "********", "abcabcabc": "*********",
			"battery battery": "******* *******",
			"sk-correct-hors": "sk-correct-hors",
		} {
			name := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(name, []byte(before+text+plain), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := secrets.maskFile(name); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(name); err != nil || string(got) != before+want+plain {
				t.Errorf("%s at %d: %q, %v", text, at, got[max(0, at-20):], err)
			}
			if got := secrets.Hide(before + text); got != before+want {
				t.Errorf("%s at %d: %q", text, at, got[max(0, at-20):])
			}
		}
	}
}

// TestSecrets: the server does not inherit what is withheld, and its log is masked after its end, also by an interrupt.
func TestSecrets(t *testing.T) {
	t.Setenv("BENCH_TEST_KEY", "sk-of-the-environment")
	t.Setenv("BENCH_TEST_OTHER", "other")
	const show = `echo "<$BENCH_TEST_KEY> <$BENCH_TEST_OTHER>"; `
	for _, interrupted := range []bool{false, true} {
		log, err := os.OpenFile(filepath.Join(t.TempDir(), "server-1.log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := Config{Command: []string{"sh", "-c", show + "echo sk-printed; exit 3"}, URL: "http://127.0.0.1:1", Log: log,
			Withhold: []string{"BENCH_TEST_KEY"}, Secrets: Secrets{"sk-printed"}, Before: []string{"sh", "-c", show}}
		if interrupted {
			c.Command[2] = show + "echo sk-printed; sleep 60"
			go func() { // the line is written
				for {
					if text, _ := os.ReadFile(log.Name()); strings.Contains(string(text), "sk-printed") {
						cancel()
						return
					}
					time.Sleep(5 * time.Millisecond)
				}
			}()
		}
		err = Run(ctx, c, func(context.Context, Running) error { return nil })
		text, _ := os.ReadFile(log.Name())
		if string(text) != "<> <other>\n<> <other>\n**********\n" {
			t.Errorf("%q", text)
		}
		died := new(DiedError)
		if early := errors.As(err, &died); early == interrupted || early && len(died.Withheld) != 1 ||
			strings.Contains(err.Error(), "sk-") {
			t.Error(err)
		}
	}
}
