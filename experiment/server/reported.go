package server

import "strings"

// Reported are the settings that vLLM writes to its log when it starts: the arguments that it got, and what it made of
// them. nil: none, or there is no log.
func (s Running) Reported() map[string]any {
	if s.log == nil {
		return nil
	}
	return reported(s.secrets.Hide(s.log.end(4 << 20)))
}

var (
	// (EngineCore pid=7) INFO 11-29 16:17:04 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: a=…
	settingsLine = lazy(`non-default args: \{(.*)|LLM engine \(v\S*\) with config: (.*)|` +
		`Chunked prefill is enabled with (.*)\.|(Using \w+ attention backend)`)
	// pythonSetting is an item of a dict or a keyword argument, on any level: 'a': 1, b=[2, 3].
	pythonSetting = lazy(`(\w+)(?:=|': )('[^']*'|\[[^\]]*\]|<[^>]*>|[\w.+-]+)`)
)

// reported joins the values of a name that a line has more than once.
func reported(log string) map[string]any {
	out := map[string]any{}
	for _, line := range settingsLine().FindAllStringSubmatch(log, -1) {
		own := map[string]string{}
		for _, m := range pythonSetting().FindAllStringSubmatch(strings.Join(line[1:4], ""), -1) {
			own[m[1]] = strings.TrimPrefix(own[m[1]]+", "+strings.Trim(m[2], "'"), ", ")
		}
		if line[4] != "" {
			own["attention_backend"] = strings.Fields(line[4])[1]
		}
		for name, value := range own {
			out[name] = value
		}
	}
	return out
}
