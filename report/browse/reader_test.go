package browse

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bench/report/compare"
)

// gated are files whose directories open, once shut, when the test opens them; entered gets one value each.
type gated struct {
	fs.FS
	shut          *atomic.Bool
	entered, open chan struct{}
}

func newGated(a *Archive) gated {
	g := gated{a.files, new(atomic.Bool), make(chan struct{}, 100), make(chan struct{})}
	a.files = g
	return g
}

func (g gated) ReadDir(name string) ([]fs.DirEntry, error) {
	if g.shut.Load() {
		g.entered <- struct{}{}
		<-g.open
	}
	return fs.ReadDir(g.FS, name)
}

// stopped is a reader that takes no byte of its page until the test ends.
type stopped struct {
	*httptest.ResponseRecorder
	writing, end chan struct{}
}

func (w stopped) Write(text []byte) (int, error) {
	close(w.writing)
	<-w.end
	return 0, io.ErrClosedPipe
}

// A reader who stops keeps no other one waiting.
func TestReaderWhoStops(t *testing.T) {
	dir := many(t, 1)
	synctest.Test(t, func(t *testing.T) {
		a := open(t, dir)
		update(t, a)
		h := NewServer(a).Handler()
		w := stopped{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
		defer close(w.end)
		go h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/trend", nil))
		<-w.writing
		if status, _, body := get(t, h, "/trend"); status != 200 {
			t.Errorf("%d: %.200s", status, body)
		}
	})
}

// A request that ends while it waits for another one's search or page ends at once.
func TestWaitingEnds(t *testing.T) {
	dir := many(t, 1)
	synctest.Test(t, func(t *testing.T) {
		a := open(t, dir)
		g := newGated(a)
		g.shut.Store(true)
		s := NewServer(a)
		defer close(g.open)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _, _ = s.rendered(t.Context(), Query{}, func(Query, []compare.Night, io.Writer) (string, error) { return "", nil })
		}()
		<-g.entered
		time.AfterFunc(time.Second, cancel)
		if _, _, err := a.Update(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, _, err := s.rendered(ctx, Query{}, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
