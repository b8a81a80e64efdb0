package compare

import (
	"strings"
	"testing"
)

const vllmInfo = `python_info{implementation="CPython",version="3.12.1"} 1.0
vllm:cache_config_info{block_size="128",cache_dtype="auto",note="a \"quoted\", {text}=",num_gpu_blocks="4096"} 1.0`

func TestFoldBuildInfo(t *testing.T) {
	other := strings.NewReplacer(`"128"`, `"16"`, `"4096"`, `"32768"`, `,cache_dtype="auto"`, "").Replace(vllmInfo)
	many := `x_info{a="1",b="1",c="1",d="1",e="1",f="1",g="1",h="1",i="1",j="1"} 1`
	for name, c := range map[string]struct {
		base, changed []string
		was, is       string
	}{
		"what differs":      {[]string{vllmInfo}, []string{other}, "block_size=128, cache_dtype=auto, num_gpu_blocks=4096", "block_size=16, cache_dtype=none, num_gpu_blocks=32768"},
		"one reports":       {[]string{vllmInfo}, []string{notReported}, `implementation=CPython, version=3.12.1, block_size=128, cache_dtype=auto, note=a \"quoted\", {text}=, num_gpu_blocks=4096`, notReported},
		"several runs":      {[]string{vllmInfo, other}, []string{vllmInfo}, "block_size=128|16, num_gpu_blocks=4096|32768", "block_size=128, num_gpu_blocks=4096"},
		"one line, clipped": {[]string{`a_info{x="1",y="2",cl…; b_info{z="3"} 1`}, []string{`a_info{x="1",y="4",cl…; b_info{z="5"} 1`}, "y=2, z=3", "y=4, z=5"},
		"nothing":           {[]string{vllmInfo}, []string{vllmInfo}, "", ""},
		"many": {[]string{many}, []string{strings.ReplaceAll(many, `"1"`, `"2"`)}, "a=1, b=1, c=1, d=1, e=1, f=1, g=1, h=1, 2 more in build_info of run.json",
			"a=2, b=2, c=2, d=2, e=2, f=2, g=2, h=2, 2 more in build_info of run.json"},
	} {
		if was, is := foldBuildInfo(c.base, c.changed); was != c.was || is != c.is {
			t.Errorf("%s: %s · %s", name, was, is)
		}
	}
	if got := infoLabels([]string{vllmInfo})["vllm:cache_config_info{note"]; got != `a \"quoted\", {text}=` {
		t.Errorf("%s", got)
	}
}

func FuzzInfoLabels(f *testing.F) {
	f.Add(vllmInfo)
	f.Add(`a{b="`)
	f.Fuzz(func(t *testing.T, text string) {
		for key := range infoLabels([]string{text}) {
			if !strings.Contains(key, "{") {
				t.Errorf("%q has no metric", key)
			}
		}
	})
}

// Two engines that no setting makes equal are compared, and what differs is stated.
func TestEnginesAreCompared(t *testing.T) {
	base, changed := pairOf(30)
	base.Manifest.Target.BuildInfo = strings.Split(vllmInfo, "\n")
	base.Manifest.Target.Version = map[string]any{"version": "0.32.0"}
	base.Manifest.Target.Connections, changed.Manifest.Target.Connections = "kept open and reused", "one per request: the server closes them after an answer"
	for i := range base.Rows {
		base.Rows[i].Server.Metrics = engineMetrics("vllm")
		changed.Rows[i].Server.Metrics = engineMetrics("llamacpp")
	}
	c := compared(t, side(base), side(changed), Options{})
	if c.Refused || len(c.Points) != 1 || c.Points[0].Refused {
		t.Errorf("refused: %+v", c.Differences)
	}
	for _, d := range [][3]string{
		{"engine", "vllm", "llamacpp"}, {"server version", `{"version":"0.32.0"}`, notReported}, {"build info", `implementation=CPython, version=3.12.1, block_size=128, cache_dtype=auto, note=a \"quoted\", {text}=, num_gpu_blocks=4096`, notReported},
		{"connections", "kept open and reused", "one per request: the server closes them after an answer"},
	} {
		if !has(c.Differences, d[0], d[1], d[2], false) {
			t.Errorf("%v is not stated: %+v", d, c.Differences)
		}
	}
}
