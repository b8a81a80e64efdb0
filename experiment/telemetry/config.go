package telemetry

import (
	"net/url"
	"slices"
	"strconv"
)

// Config is the [telemetry] table: where the samples of the server and its GPUs come from.
type Config struct {
	Server string `toml:"server" json:"server,omitempty"` // "auto" (also when empty): /metrics of the endpoint; "off"; or the URL of the page
	// GPU is "auto" (also when empty): for an endpoint on this machine, a DCGM exporter on its default port,
	// else nvidia-smi; "off"; "nvidia-smi"; or the URL of a DCGM exporter.
	GPU string `toml:"gpu" json:"gpu,omitempty"`
}

// Values of Config other than a URL.
const (
	Auto      = "auto"
	Off       = "off"
	NvidiaSMI = "nvidia-smi"
)

// Check reports all mistakes in the table.
func (c Config) Check(bad func(key, problem, hint string)) {
	if !isSource(c.Server, "", Auto, Off) {
		bad("server", strconv.Quote(Redact(c.Server))+" is not a source of server metrics", `write "auto", "off", or a URL such as "http://host:8000/metrics"`)
	}
	if !isSource(c.GPU, "", Auto, Off, NvidiaSMI) {
		bad("gpu", strconv.Quote(Redact(c.GPU))+" is not a source of GPU samples", `write "auto", "off", "nvidia-smi", or the URL of a DCGM exporter such as "http://host:9400/metrics"`)
	}
}

// isSource reports whether source is one of words or an HTTP URL.
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
