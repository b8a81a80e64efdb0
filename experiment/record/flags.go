package record

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"bench/experiment/text"
	"bench/experiment/unit"
)

// notFlag matches names of settings that differ at each start, or that are where a server is.
var notFlag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|_)(seed|hosts?|ports?|addr|ip|dir)(_|$)|` +
		`^(session_|instance_)?id$|throughput|memory_usage`)
})

// AddFlags adds the settings that an engine reports, but no texts that can have a secret in them: JSON and URLs.
func (t *TargetInfo) AddFlags(reported map[string]any) {
	for name, v := range reported {
		value, ok := v.(string)
		if !ok {
			b, _ := json.Marshal(v) // it came from JSON
			value = string(b)
		}
		unsafe := strings.ContainsAny(value, "{@=") || strings.Contains(value, "//") || text.IsSecret(name, value)
		if value == "" || unsafe || notFlag().MatchString(name) {
			continue
		}
		if t.Flags == nil {
			t.Flags = map[string]string{}
		}
		t.Flags[name] = unit.ClipBytes(value, 500)
	}
	if states, _ := reported["internal_states"].([]any); len(states) > 0 { // of SGLang's replicas, which are alike
		if first, _ := states[0].(map[string]any); first[slotsOfReplica] != nil {
			t.AddFlags(map[string]any{slotsOfReplica: first[slotsOfReplica]})
		}
	}
}
