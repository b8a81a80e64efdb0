package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/target"
	"bench/live/recording"
)

// TestSentAfterEnd: a transport can find out that it sent a request after the answer's end.
func TestSentAfterEnd(t *testing.T) {
	n := 0
	p, err := New(Config{To: &url.URL{Scheme: "http", Host: "a"}, Done: func(*recording.Exchange) { n++ }})
	if err != nil {
		t.Fatal(err)
	}
	x := p.begin(target.Chat, httptest.NewRequest(http.MethodPost, "http://p/v1/chat/completions", strings.NewReader("{}")))
	x.ended = time.Now()
	p.recorder.queue <- step{x, eventEnded}
	p.recorder.queue <- step{x, eventSent}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n != 1 {
		t.Errorf("an exchange was handed over %d times", n)
	}
}

// TestLongModel: callers choose names of models, which must not fill the memory or the file.
func TestLongModel(t *testing.T) {
	for _, keep := range []bool{false, true} {
		r := &recorder{p: &Proxy{config: Config{KeepModels: keep}}, models: map[string]string{}}
		class := func(name string) string { return r.class(fmt.Appendf(nil, `{"model":%q}`, name)) }
		longest := strings.Repeat("m", maxModelName)
		if got := class(longest + "m"); got != "other" || len(r.models) != 0 {
			t.Errorf("%q, %d names kept", got, len(r.models))
		}
		if got := class(longest); (got == longest) != keep || got == "other" {
			t.Errorf("keep %v: %q", keep, got)
		}
	}
}

// TestCopiesAddUp: every copy that was sent is in the counts and the metrics, also those that were cut and those whose
// answer is not read.
func TestCopiesAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64 // copies
		shadow := &ShadowConfig{To: &url.URL{Scheme: "http", Host: "b", Path: "/v1"}, Share: 1}
		r := newRig(t, Config{Shadow: shadow}, func(w http.ResponseWriter, q *http.Request) {
			if q.Host == "a" {
				words(1)(w, q)
				return
			}
			io.Copy(io.Discard, q.Body)
			switch n.Add(1) {
			case 1:
				words(1)(w, q)
			case 2:
				w.WriteHeader(http.StatusInternalServerError)
			case 3:
				w.Header().Set("Content-Encoding", "br")
				io.WriteString(w, "?")
			default:
				<-q.Context().Done()
			}
		})
		for i := range 5 {
			resp, err := r.post(t.Context(), fmt.Sprintf(`{"messages":[{"role":"user","content":"question %d"}],"stream":true}`, i))
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			time.Sleep(time.Second)
		}
		r.Proxy.shadow.stop(stoppedOperator)
		r.all()
		if c := r.Counts().Shadow; c.Sent != 5 || c.Failed != 1 || c.Unread != 1 || c.Cut != 2 {
			t.Errorf("%+v", c)
		}
		metrics := httptest.NewRecorder()
		r.server.Admin().ServeHTTP(metrics, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		sum := 0
		for _, m := range regexp.MustCompile(`answers_total\{server="candidate",[^}]*\} (\d+)`).FindAllStringSubmatch(metrics.Body.String(), -1) {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if sum != 5 {
			t.Errorf("outcomes of %d copies in\n%s", sum, metrics.Body)
		}
	})
}

// TestCopyKeys: with a key of its own the candidate gets no secret of a caller, without one it gets all.
func TestCopyKeys(t *testing.T) {
	caller := http.Header{"Authorization": {"Bearer caller"}, "X-Api-Key": {"caller"}, "Cookie": {"caller"}, "X-Goog-Api-Key": {"caller"},
		"Ocp-Apim-Subscription-Key": {"caller"}, "X-Session-Id": {"17"}, "X-Session-Token": {"caller"}, "X-Kept": {"kept"}}
	h := copyHeader(caller, target.Chat, "own", "x-session-id")
	if h.Get("Authorization") != "Bearer own" || h.Get("X-Kept") != "kept" || h.Get("X-Session-Id") != "17" || strings.Contains(fmt.Sprint(h), "caller") {
		t.Error(h)
	}
	if h := copyHeader(caller, target.Chat, "own", "X-Session-Token"); h.Get("X-Session-Id") != "" || strings.Contains(fmt.Sprint(h), "caller") {
		t.Error(h)
	}
	if h := copyHeader(caller, target.Chat, "", ""); h.Get("Cookie") != "caller" || h.Get("X-Goog-Api-Key") != "caller" {
		t.Error(h)
	}
	for query, want := range map[string]string{
		"": "", "a=1&key=x&b=%20": "a=1&b=%20", "api_key=x&api-key=x&token=x&access_token=x": "", "API%2DKEY=x&%zz=1&v=2": "v=2",
	} {
		if got := withoutKeys(&url.URL{Path: "/v1", RawQuery: query}); got.RawQuery != want || got.Path != "/v1" {
			t.Errorf("%q: %q", query, got.RawQuery)
		}
	}
}
