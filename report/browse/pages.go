package browse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"bench/report"
	"bench/report/compare"
	"bench/report/foreign"
	"bench/report/page"
)

// The largest number of runs of a page. Their records are in memory together.
const (
	mostCompared = 60
	mostReported = 12
)

type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }

func badRequest(format string, args ...any) error {
	return &statusError{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// report renders anew: a running run is up to date, and no HTML of the directory is ever served.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, func(q Query, nights []compare.Night, to io.Writer) (string, error) {
		picked, err := selected(q, nights, 1, mostReported)
		if err != nil {
			return "", err
		}
		runs, _, err := s.load(r.Context(), picked)
		if err != nil {
			return "", err
		}
		return "", page.Runs(to, runs...)
	})
}

func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, func(q Query, nights []compare.Night, to io.Writer) (string, error) {
		picked, err := selected(q, nights, 2, mostCompared)
		if err != nil {
			return "", err
		}
		allow, err := allowed(r.URL.Query()["allow"])
		if err != nil {
			return "", err
		}
		base, err := s.side(r.Context(), picked[:len(picked)-1])
		if err != nil {
			return "", err
		}
		changed, err := s.side(r.Context(), picked[len(picked)-1:])
		if err != nil {
			return "", err
		}
		c, err := compare.Compare(base, changed, compare.Options{Allow: allow})
		if err != nil {
			return "", err
		}
		return allowLink(r.URL.Query(), c), page.Comparison(to, c)
	})
}

func (s *Server) trend(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, func(q Query, nights []compare.Night, to io.Writer) (string, error) {
		picked := q.pick(nights)
		if len(q.Runs) > 0 {
			var err error
			if picked, err = selected(q, nights, 1, len(nights)); err != nil {
				return "", err
			}
		}
		if len(picked) == 0 {
			return "", badRequest("no run matches the filters")
		}
		return "", page.History(to, compare.NewHistory(picked))
	})
}

type writer func(q Query, nights []compare.Night, to io.Writer) (more string, err error)

func (s *Server) render(w http.ResponseWriter, r *http.Request, write writer) {
	q, err := parseQuery(r.URL.Query())
	if err != nil {
		s.wrong(w, r, http.StatusBadRequest, err)
		return
	}
	text, more, err := s.rendered(r.Context(), q, write)
	var known *statusError
	switch {
	case r.Context().Err() != nil: // the reader has left, or the server ends
	case errors.As(err, &known):
		s.wrong(w, r, known.status, err)
	case err != nil:
		s.wrong(w, r, http.StatusInternalServerError, err)
	default:
		writePage(w, http.StatusOK, s.policy, withNav(text, "./?"+q.Encode(), more))
	}
}

// rendered is a page in memory. Pages wait for each other, but for no reader of one.
func (s *Server) rendered(ctx context.Context, q Query, write writer) (text []byte, more string, err error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	nights, _, err := s.archive.nights(ctx)
	if err != nil {
		return nil, "", err
	}
	var b bytes.Buffer
	more, err = write(q, nights, &b)
	return b.Bytes(), more, err
}

// withNav adds a link to the table of runs to a page: its file has none.
func withNav(text []byte, back, more string) []byte {
	nav := fmt.Sprintf("<main>\n<nav><a href=\"%s\">All runs</a> %s</nav>", template.HTMLEscapeString(back), more)
	return bytes.Replace(text, []byte("<main>"), []byte(nav), 1)
}

func selected(q Query, nights []compare.Night, least, most int) ([]compare.Night, error) {
	var out []compare.Night
	for _, dir := range q.Runs {
		i := slices.IndexFunc(nights, func(n compare.Night) bool { return n.Dir == dir && n.Headline != nil })
		if i < 0 {
			return nil, &statusError{http.StatusNotFound, fmt.Errorf("no readable run is called %q", dir)}
		}
		out = append(out, nights[i])
	}
	switch n := len(out); {
	case n < least:
		return nil, badRequest("select at least %d of the runs, not %d", least, n)
	case n > most:
		return nil, badRequest("select at most %d runs, not %d: their requests would not fit into memory", most, n)
	}
	slices.SortStableFunc(out, func(a, b compare.Night) int { return a.StartedAt.Compare(b.StartedAt) })
	return out, nil
}

func (s *Server) load(ctx context.Context, nights []compare.Night) (runs []*report.Run, names []string, err error) {
	for _, n := range nights {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		run, err := foreign.LoadBelow(s.archive.files, n.Dir)
		if err != nil {
			return nil, nil, err
		}
		if run.Files != nil {
			run.CheckEvidence()
		}
		runs, names = append(runs, run), append(names, n.Dir)
	}
	return runs, names, nil
}

func (s *Server) side(ctx context.Context, nights []compare.Night) (compare.Side, error) {
	runs, names, err := s.load(ctx, nights)
	return foreign.SideOf(strings.Join(names, ", "), runs...), err
}

func allowed(keys []string) ([]string, error) {
	for _, key := range keys {
		if !slices.Contains(compare.Refusable, key) {
			return nil, badRequest("allow=%q: use %s", key, strings.Join(compare.Refusable, ", "))
		}
	}
	return keys, nil
}

func allowLink(v url.Values, c *compare.Comparison) string {
	var keys []string
	for _, d := range c.Differences {
		if d.Key != "" && !d.Allowed && !slices.Contains(keys, d.Key) {
			keys = append(keys, d.Key)
		}
	}
	if !c.Refused || len(keys) == 0 {
		return ""
	}
	v["allow"] = append(v["allow"], keys...)
	return fmt.Sprintf(`<a href="%s">Compare although %s differ</a>`, template.HTMLEscapeString("compare?"+v.Encode()),
		template.HTMLEscapeString(strings.Join(keys, ", ")))
}
