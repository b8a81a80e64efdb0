package sweep

import (
	"fmt"
	"strings"
	"time"
)

// zeroRowKeys are keys of a row whose zero would mean the default, with what to write: a stated zero never
// silently becomes the default.
var zeroRowKeys = []struct{ key, hint string }{
	{"concurrency", "write concurrency = 8, or leave it out: then a rate has no cap"},
	{"repeats", "write repeats = 1, or leave it out"},
	{"burstiness", "write burstiness = 0.5 (1 = Poisson, below 1 burstier), or leave it out"},
	{"prefix.groups", "write groups = 1, or leave it out"},
	{"trace.speed", "write speed = 2 (twice as fast), or leave it out"},
	{"settle", `write settle = "1ms": a row does not wait until the server is idle; without settle it waits up to a minute`},
	{"grace", `write grace = "1ms": requests that run at the end of the window are unfinished; without grace they have 2 minutes`},
}

// zeroSearchKeys are such keys of a search.
var zeroSearchKeys = []struct{ key, hint string }{
	{"budget", `write budget = "20m", or leave it out`},
}

// zeroTableKeys are such keys outside the rows.
var zeroTableKeys = []struct{ key, hint string }{
	{"budget", `write budget = "20m", or leave it out: then every row runs as often as it states`},
	{"target.gpus", "write gpus = 1, or leave it out: then no figure is per GPU"},
	{"target.timeout", `write timeout = "10m", or leave it out`},
	{"server.start_timeout", `write start_timeout = "10m", or leave it out`},
	{"server.stop_timeout", `write stop_timeout = "30s", or leave it out`},
}

// checkZeros reports stated zeros in a point that have no meaning.
func checkZeros(values map[string]any, bad func(path, text, hint string)) {
	for _, k := range zeroRowKeys {
		if zeroAt(values, k.key) {
			bad(k.key, k.key+" is 0", k.hint)
		}
	}
	classes, _ := values["mix"].([]map[string]any)
	for i, class := range classes {
		if zeroAt(class, "prefix.groups") {
			bad(fmt.Sprintf("mix[%d].prefix.groups", i), "prefix.groups is 0", "write groups = 1, or leave it out")
		}
	}
	if values["kind"] == "cold_start" && zeroAt(values, "idle") {
		bad("idle", "idle is 0, but a cold start needs an idle server", `write idle = "10s", or leave it out`)
	}
	checkEnd(values, bad)
}

// checkEnd reports a zero that leaves the window without an end. Beside the other key a zero overrides the
// defaults.
func checkEnd(values map[string]any, bad func(path, text, hint string)) {
	ends := func(key string) bool { return values[key] != nil && !zeroAt(values, key) }
	if ends("requests") || ends("duration") {
		return
	}
	for _, key := range []string{"requests", "duration"} {
		if zeroAt(values, key) {
			bad(key, key+" is 0, and nothing else ends the window", `write requests = 1000 or duration = "60s"`)
			return
		}
	}
}

// checkTimes reports stated zeros outside the rows.
func (r *reader) checkTimes() {
	for _, k := range zeroTableKeys {
		if zeroAt(r.doc.Root, k.key) {
			r.bad(k.key, k.key+" is 0", k.hint)
		}
	}
}

// zeroAt reports whether a table states zero for a key, or for a key in a table in it: a number, or a quoted
// duration.
func zeroAt(table map[string]any, path string) bool {
	key, inner, nested := strings.Cut(path, ".")
	if nested {
		sub, _ := table[key].(map[string]any)
		return zeroAt(sub, inner)
	}
	switch v := table[key].(type) {
	case int64:
		return v == 0
	case float64:
		return v == 0
	case string:
		d, err := time.ParseDuration(v)
		return err == nil && d == 0
	}
	return false
}
