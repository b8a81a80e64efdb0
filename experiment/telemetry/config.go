package telemetry

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
)

// Config is the [telemetry] table: where the samples of the server and its GPUs come from.
type Config struct {
	Server Pages `toml:"server"`
	// GPU is "auto" (also when empty): for an endpoint on this machine, the first of a DCGM exporter on its default
	// port, nvidia-smi, and AMD's exporter on its default port; "off"; "nvidia-smi"; or the URL of an exporter.
	GPU string `toml:"gpu"`
}

// Pages are the metrics pages of the server: one source, or the pages of its parts.
type Pages struct {
	Source string // "auto" (also when empty): /metrics of the endpoint; "off"; or the URL of the page
	Parts  []Page // if there are any, Source is empty
}

// Page is the metrics page of one part of the server.
type Page struct {
	URL  string
	Role string // RolePrefill, RoleDecode, RoleRouter; empty: a replica that does everything
}

// Roles of the parts of a server.
const (
	RolePrefill = "prefill"
	RoleDecode  = "decode"
	RoleRouter  = "router"
)

// Values of Config other than a URL.
const (
	Auto      = "auto"
	Off       = "off"
	NvidiaSMI = "nvidia-smi"
)

func (p *Pages) DecodeTOML(v any, bad func(key, problem, hint string)) {
	const hint = `write server = "http://host:8000/metrics", or server = [{ url = "http://host:8000/metrics", role = "prefill" }, …]`
	var parts []any
	switch v := v.(type) {
	case string:
		p.Source = v
		return
	case []any:
		parts = v
	case []map[string]any:
		for _, part := range v {
			parts = append(parts, part)
		}
	default:
		bad("", "not a source of server metrics", hint)
		return
	}
	if len(parts) == 0 {
		bad("", "an empty list of pages", hint)
	}
	for i, part := range parts {
		p.Parts = append(p.Parts, Page{})
		p.Parts[i].decode(part, func(key, problem, hint string) { bad(fmt.Sprintf("[%d]%s", i, key), problem, hint) })
	}
}

func (p *Page) decode(v any, bad func(key, problem, hint string)) {
	if text, ok := v.(string); ok {
		p.URL = text
		return
	}
	const hint = `write { url = "http://host:8000/metrics", role = "prefill" }`
	table, ok := v.(map[string]any)
	if !ok {
		bad("", "not a metrics page", hint)
		return
	}
	for key, x := range table {
		text, isText := x.(string)
		switch {
		case key != "url" && key != "role":
			bad("."+key, "unknown key "+strconv.Quote(key), "the keys of this table are url, role")
		case !isText:
			bad("."+key, "not a text", hint)
		case key == "url":
			p.URL = text
		default:
			p.Role = text
		}
	}
}

func (c Config) Check(bad func(key, problem, hint string)) {
	if !isSource(c.Server.Source, "", Auto, Off) {
		bad("server", strconv.Quote(Redact(c.Server.Source))+" is not a source of server metrics",
			`write "auto", "off", or a URL such as "http://host:8000/metrics"`)
	}
	c.Server.checkParts(bad)
	if !isSource(c.GPU, "", Auto, Off, NvidiaSMI) {
		bad("gpu", strconv.Quote(Redact(c.GPU))+" is not a source of GPU samples",
			`write "auto", "off", "nvidia-smi", or the URL of an exporter (NVIDIA's DCGM, AMD's Device Metrics) such as "http://host:9400/metrics"`)
	}
}

func (p *Pages) checkParts(bad func(key, problem, hint string)) {
	engines := 0
	for i, part := range p.Parts {
		key := fmt.Sprintf("server[%d]", i)
		if !isSource(part.URL) {
			bad(key+".url", strconv.Quote(Redact(part.URL))+" is not the URL of a metrics page",
				`write url = "http://host:8000/metrics"`)
		}
		if slices.ContainsFunc(p.Parts[:i], func(o Page) bool { return o.URL == part.URL }) {
			bad(key+".url", "the page is in the list twice", "leave one of them out")
		}
		if !slices.Contains([]string{"", RolePrefill, RoleDecode, RoleRouter}, part.Role) {
			bad(key+".role", strconv.Quote(part.Role)+" is not a role",
				`write role = "prefill", "decode" or "router", or leave it out for a replica`)
		}
		if part.Role != RoleRouter {
			engines++
		}
	}
	if len(p.Parts) > 0 && engines == 0 {
		bad("server", "the list has routers only",
			`add the pages of the engines behind them, such as { url = "http://host:8000/metrics" }`)
	}
}

func isSource(source string, words ...string) bool {
	if slices.Contains(words, source) {
		return true
	}
	u, err := url.Parse(source)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Fragment == ""
}

// Redact removes user info and the query, which may contain keys, from a URL.
func Redact(source string) string {
	u, err := url.Parse(source)
	if err != nil {
		return "***" // a password may be the reason of the error
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}
