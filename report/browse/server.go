// Package browse serves the runs below a directory as pages: a table of all runs, which links to the report
// of each, to the comparison of some and to their history. These are the pages of package page, rendered on
// demand.
//
// It changes nothing below the directory but its index, and reads nothing outside of it. A request names runs
// of the archive, never files, so that no path comes from a request. Names of files and everything in them
// are untrusted.
package browse

import (
	"bytes"
	_ "embed"
	"net/http"

	"bench/experiment/text"
	"bench/report/page"
)

var (
	//go:embed table.html
	tableHTML string
	//go:embed table.css
	tableCSS string
	//go:embed table.js
	tableScript string
)

type Server struct {
	archive *Archive
	shell   page.Shell
	policy  string        // of the pages of package page
	turn    chan struct{} // of one page at a time that reads whole runs: they need memory and all cores
}

// NewServer serves an archive.
func NewServer(a *Archive) *Server {
	return &Server{archive: a, shell: page.NewShell(tableCSS, tableScript), policy: page.Policy(),
		turn: make(chan struct{}, 1)}
}

// Handler answers GET and HEAD, for a listen.Door.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.table)
	mux.HandleFunc("GET /report", s.report)
	mux.HandleFunc("GET /compare", s.compare)
	mux.HandleFunc("GET /trend", s.trend)
	return mux
}

func (s *Server) table(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuery(r.URL.Query())
	if err != nil {
		s.wrong(w, r, http.StatusBadRequest, err)
		return
	}
	if canonical := q.Encode(); canonical != r.URL.RawQuery { // a form sends its empty fields too
		http.Redirect(w, r, "./?"+canonical, http.StatusSeeOther)
		return
	}
	s.writeTable(w, r, q, http.StatusOK, "")
}

func (s *Server) wrong(w http.ResponseWriter, r *http.Request, status int, err error) {
	q, invalid := parseQuery(r.URL.Query())
	if invalid != nil {
		q = Query{}
	}
	s.writeTable(w, r, q, status, err.Error())
}

func (s *Server) writeTable(w http.ResponseWriter, r *http.Request, q Query, status int, wrong string) {
	nights, left, err := s.archive.nights(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	v := newTable(s.shell, s.archive.Dir, q, nights)
	v.Wrong, v.Reading = wrong, reading(len(nights), left)
	var b bytes.Buffer
	if err := tableTemplate().Execute(text.Page(&b), v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writePage(w, status, s.shell.Policy, b.Bytes())
}

func writePage(w http.ResponseWriter, status int, policy string, text []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy+"; frame-ancestors 'none'")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the reader may have left
}
