package listen

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestStalledCallers: callers that read nothing end within half a minute, and keep the next ones waiting no longer. A slow
// one gets all.
func TestStalledCallers(t *testing.T) {
	const get = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	for name, answer := range map[string]string{"small": "x", "large": strings.Repeat("x", 1<<20)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				pipes, _ := serve(t, &Door{MaxConnections: 2, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, answer)
				})})
				send(t, pipes, get)
				send(t, pipes, get)
				began := time.Now()
				c := send(t, pipes, get)
				n := 0
				for part := make([]byte, chunk/2); ; time.Sleep(stalledTimeout / 4) {
					k, err := c.Read(part)
					if n += k; err == io.EOF {
						break
					} else if err != nil {
						t.Fatal(n, err)
					}
					if n == k && time.Since(began) > stalledTimeout+time.Second {
						t.Errorf("the first byte came after %v", time.Since(began))
					}
				}
				if n < len(answer) {
					t.Errorf("a slow caller got %d of %d bytes", n, len(answer))
				}
			})
		})
	}
}

// TestPauses: a handler may wait between its writes and flushes as long as it wants, and set deadlines of its own.
func TestPauses(t *testing.T) {
	for name, flush := range map[string]bool{"flush": true, "no flush": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				pipes, _ := serve(t, &Door{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					out := http.NewResponseController(w)
					for range 3 {
						if _, err := io.WriteString(w, "x"); err != nil {
							t.Error(err)
						}
						time.Sleep(time.Hour)
						if flush {
							if err := out.Flush(); err != nil {
								t.Error(err)
							}
						}
					}
				})})
				c := send(t, pipes, "GET / HTTP/1.0\r\n\r\n")
				if text, after := answered(t, c); !strings.HasSuffix(text, "xxx") || after != 3*time.Hour {
					t.Errorf("%q after %v", text, after)
				}
			})
		})
	}
	bubble(t, func(t *testing.T) {
		ended := make(chan time.Duration, 1)
		pipes, _ := serve(t, &Door{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			began, out := time.Now(), http.NewResponseController(w)
			_ = out.SetWriteDeadline(time.Now().Add(10 * time.Second))
			for out.Flush() == nil {
				_, _ = io.WriteString(w, "x")
			}
			ended <- time.Since(began)
		})})
		send(t, pipes, "GET / HTTP/1.0\r\n\r\n")
		if after := <-ended; after != 10*time.Second {
			t.Errorf("its own deadline came after %v", after)
		}
	})
}
