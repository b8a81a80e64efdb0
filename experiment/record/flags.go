package record

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"bench/experiment/unit"
)

// notFlag matches names of settings that can be secret, that differ at each start, or that are where a server is.
var notFlag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|_)(seed|hosts?|ports?|addr|ip|dir|id)(_|$)|(^|_)(auth|token|key|pwd)$|` +
		`api_?key|passw|secret|credential|authorization|throughput|memory_usage`)
})

// AddFlags adds the settings that an engine reports, but no texts that can have a secret in them: JSON and URLs.
func (t *TargetInfo) AddFlags(reported map[string]any) {
	for name, v := range reported {
		text, ok := v.(string)
		if !ok {
			b, _ := json.Marshal(v) // it came from JSON
			text = string(b)
		}
		unsafe := strings.ContainsAny(text, "{@") || strings.Contains(text, "//")
		if text == "" || unsafe || notFlag().MatchString(name) {
			continue
		}
		if t.Flags == nil {
			t.Flags = map[string]string{}
		}
		t.Flags[name] = unit.ClipBytes(text, 500)
	}
}
