package sweep

import (
	"fmt"
	"strings"
	"time"
)

// Keys whose zero would mean the default: a stated zero never silently becomes the default.
var (
	zeroRowKeys   = []string{"concurrency", "repeats", "burstiness", "prefix.groups", "trace.speed", "settle", "grace"}
	zeroTableKeys = []string{"budget", "target.gpus", "target.timeout", "server.start_timeout", "server.stop_timeout"}
)

func checkZero(table map[string]any, key string, bad func(path, text, hint string)) {
	if !zeroAt(table, key) {
		return
	}
	hint := "write a value above 0, or leave it out for the default"
	if key == "settle" || key == "grace" { // without them a row waits
		hint = "write " + key + ` = "1ms", or leave it out for the default`
	}
	bad(key, key+" is 0", hint)
}

func checkZeros(values map[string]any, bad func(path, text, hint string)) {
	for _, key := range zeroRowKeys {
		checkZero(values, key, bad)
	}
	classes, _ := values["mix"].([]map[string]any)
	for i, class := range classes {
		checkZero(class, "prefix.groups", func(key, text, hint string) {
			bad(fmt.Sprintf("mix[%d].%s", i, key), text, hint)
		})
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

func (r *reader) checkTimes() {
	for _, key := range zeroTableKeys {
		checkZero(r.doc.Root, key, r.bad)
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
