package page

import (
	"fmt"
	"html/template"
)

type Shell struct {
	Policy  string // allows its style and scripts by their hashes, and forms to its own server
	Style   template.CSS
	Scripts []template.JS
}

func NewShell(css, script string) Shell {
	all := style + css
	return Shell{Style: template.CSS(all), Scripts: []template.JS{template.JS(pageScript),
		template.JS(script)},
		Policy: fmt.Sprintf("default-src 'none'; script-src %s %s; style-src %s; img-src data:; "+
			"base-uri 'none'; form-action 'self'",
			hash(pageScript), hash(script), hash(all))}
}

// Policy allows the style and the scripts of all pages, for the header of a server. Each page has its own inside.
func Policy() string { return newFrame(true).Policy }
