// Package hostile is a corpus of what peers of a client, a gateway and a file reader can do to them: servers that
// misbehave, raw requests, and files that expand without measure. One table has them all; the texts are generated.
//
// No case does harm by itself. Texts that must not get through contain Mark.
package hostile

import (
	"io"
	"slices"
)

type Kind string

const (
	Server  Kind = "server"  // answers requests for completions, see Case.Serve
	Request Kind = "request" // bytes that a client sends on one connection
	File    Kind = "file"    // a trace, or records of a sweep
)

// Mark is what servers try to bring into logs, terminals, pages and spreadsheets.
const Mark = "MARKED"

// evil has Mark, as text for a terminal, a page and a spreadsheet.
const evil = "=cmd|'/C calc'!A0 \x1b[31m" + Mark + "</script><script>alert(1)</script>\u202e"

// Other is where a client or gateway never connects to: redirects and requests name it.
const Other = "127.0.0.1:25099"

// Case is a case of the corpus.
type Case struct {
	Name string // as a user types it
	Kind Kind
	Text string // what it does, in one line

	answer   func(x *exchange) // of a server; it ends the connection
	on       string            // beginning of the path that a server answers so; empty: that of completions
	contents []content         // of a request or a file
}

// Cases are all cases, by kind.
func Cases() []Case {
	return slices.Concat(servers(), requests(), files())
}

// Find is the case of a name.
func Find(name string) (c Case, ok bool) {
	for _, c := range Cases() {
		if c.Name == name {
			return c, true
		}
	}
	return Case{}, false
}

// Write writes the bytes of a request or a file.
func (c *Case) Write(w io.Writer) error { return write(w, c.contents...) }
