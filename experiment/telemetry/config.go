package telemetry

import (
	"net/url"
	"slices"
	"strconv"
)

// Config is the [telemetry] table: what is asked how the server and its GPUs fare while a row runs.
type Config struct {
	Server string `toml:"server" json:"server,omitempty"` // "auto" (also when empty): /metrics of the endpoint; "off"; or the page's URL
	// GPU is "auto" (also when empty): where the endpoint is on this machine a DCGM exporter on its usual port, else nvidia-smi;
	// "off"; "nvidia-smi"; or the URL of a DCGM exporter.
	GPU string `toml:"gpu" json:"gpu,omitempty"`
}

// The words that stand in place of a URL.
const (
	Auto      = "auto"
	Off       = "off"
	NvidiaSMI = "nvidia-smi"
)

// Check reports what is wrong in the table.
func (c Config) Check(bad func(key, problem, hint string)) {
	if !known(c.Server, "", Auto, Off) {
		bad("server", strconv.Quote(Redact(c.Server))+" is no source of server metrics", `write "auto", "off", or a URL such as "http://host:8000/metrics"`)
	}
	if !known(c.GPU, "", Auto, Off, NvidiaSMI) {
		bad("gpu", strconv.Quote(Redact(c.GPU))+" is no source of GPU samples", `write "auto", "off", "nvidia-smi", or the URL of a DCGM exporter such as "http://host:9400/metrics"`)
	}
}

// known says that a source is one of the words, or a URL.
func known(source string, words ...string) bool {
	if slices.Contains(words, source) {
		return true
	}
	u, err := url.Parse(source)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Fragment == ""
}

// Redact is a URL as it may be shown: without user info and without its query, where keys stand.
func Redact(source string) string {
	u, err := url.Parse(source)
	if err != nil {
		return "***" // it may hold a password that made it unreadable
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}
