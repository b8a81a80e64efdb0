package verdict

import (
	"strings"
	"testing"
)

// Few short answers whose tokens share a wake-up are no proxy that buffers.
func TestBufferingHint(t *testing.T) {
	for _, c := range []struct {
		whole, of, most int
		want            string
	}{
		{3, 40, 4, "measure longer answers"}, {40, 40, 5, "measure longer answers"}, {3, 40, 64, "some answers"}, {20, 40, 64, "proxy_buffering off"},
	} {
		if got := bufferingHint(c.whole, c.of, c.most); !strings.Contains(got, c.want) {
			t.Errorf("%d of %d answers of %d events: %q, want %q", c.whole, c.of, c.most, got, c.want)
		}
	}
}
