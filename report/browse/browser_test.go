package browse

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	fixture "bench/internal/reporttest"
)

// scripted adds a script to the table of runs, as a reader's hand; its policy is widened by that script's
// hash alone.
func scripted(h http.Handler, script string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			h.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		sum := sha256.Sum256([]byte(script))
		source := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		for key, values := range answer.Header() {
			w.Header().Set(key, strings.Replace(values[0], "script-src", source, 1))
		}
		w.WriteHeader(answer.Code)
		body := bytes.Replace(answer.Body.Bytes(), []byte("script-src"), []byte(strings.NewReplacer("'", "&#39;", "+", "&#43;").Replace(source)), 1)
		_, _ = w.Write(bytes.Replace(body, []byte("</body>"), []byte("<script>"+script+"</script></body>"), 1))
	})
}

// drive opens the address of a server of n runs in Chromium, with a script on the table.
func drive(t *testing.T, n int, target, size, script string) string {
	t.Helper()
	s := httptest.NewServer(scripted(NewServer(open(t, many(t, n))).Handler(), script))
	t.Cleanup(s.Close)
	return fixture.Browse(t, s.URL+target, size)
}

func TestTableInBrowser(t *testing.T) {
	for _, size := range []string{"390,844", "1440,900"} {
		dom := drive(t, 14, "/?sort=ttft&"+query(first), size, `
const root = document.documentElement, buttons = [...document.querySelectorAll('.actions button')];
const enabled = () => buttons.filter(b => !b.disabled).map(b => b.textContent).join(' ');
root.dataset.one = enabled();
const boxes = [...document.querySelectorAll('.runs input')];
boxes.find(b => !b.checked).click();
root.dataset.two = enabled();
root.dataset.said = document.getElementById('selected').textContent;
boxes.filter(b => b.checked).forEach(b => b.click());
root.dataset.none = enabled();
root.dataset.fits = root.scrollWidth <= root.clientWidth;
document.getElementById('theme').click();
root.dataset.focus = [...document.querySelectorAll('a, button, input, select')].filter(e => e.tabIndex < 0).length;
`)
		for _, want := range []string{`data-one="Report Trend"`, `data-two="Compare Report Trend"`, `data-said="2 selected"`, `data-none="Trend"`, `data-fits="true"`, `data-theme="dark"`, `data-focus="0"`} {
			if !strings.Contains(dom, want) {
				t.Errorf("%s: no %s in %.600s", size, want, dom)
			}
		}
	}
}

// The buttons lead to the pages, under the policy of the table and of each page.
func TestPagesInBrowser(t *testing.T) {
	for button, want := range map[string]string{"Compare": "bench compare", "Report": "<h1>20261202T120000Z against 20261120T120000Z</h1>", "Trend": "bench history", "Filter": "2 selected"} {
		dom := drive(t, 14, "/", "1440,900", fmt.Sprintf(`
if (!location.search) {
  for (const run of ['%s', '%s']) document.querySelector('input[value="' + run + '"]').click();
  [...document.querySelectorAll('button')].find(b => b.textContent === '%s').click();
}`, first, second, button))
		if !strings.Contains(dom, want) {
			t.Errorf("%s: no %s in %.900s", button, want, dom)
		}
	}
}

// Names run nothing in a browser either, and without scripts there is a table.
func TestHostileNamesInBrowser(t *testing.T) {
	dir := many(t, 2)
	hostileRun(t, dir)
	s := httptest.NewServer(NewServer(open(t, dir)).Handler())
	t.Cleanup(s.Close)
	dom := fixture.Browse(t, s.URL, "1440,900")
	if !strings.Contains(dom, "0 selected") || strings.Contains(dom, "<img") || strings.Contains(dom, "<script>alert") {
		t.Errorf("%.2000s", dom)
	}
}
