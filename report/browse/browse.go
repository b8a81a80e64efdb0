// Package browse serves the runs below a directory as pages: a table of all runs, which links to the report
// of each, to the comparison of some and to their history. These are the pages of package page, rendered on
// demand.
//
// It changes nothing below the directory but its index, and reads nothing outside of it. A request names runs
// of the archive, never files, so that no path comes from a request. Names of files and everything in them
// are untrusted.
package browse

import _ "embed"

var (
	//go:embed table.html
	tableHTML string
	//go:embed table.css
	tableCSS string
	//go:embed table.js
	tableScript string
)
