package telemetry

import (
	"strings"
	"testing"
)

func TestConfigCheck(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   string // the keys with a problem
	}{
		{Config{}, ""}, {Config{Pages{Source: "auto"}, "nvidia-smi"}, ""}, {Config{Pages{Source: "off"}, "off"}, ""}, {Config{Pages{Source: "http://h:1/metrics"}, "https://u:p@h/metrics"}, ""},
		{Config{Pages{Source: "nvidia-smi"}, "on"}, "server gpu"}, {Config{Pages{Source: "h:8000/metrics"}, "ftp://h/x"}, "server gpu"}, {Config{Pages{Source: "http://"}, "http://h/#a"}, "server gpu"},
	} {
		var got []string
		c.config.Check(func(key, problem, hint string) {
			got = append(got, key)
			if problem == "" || hint == "" {
				t.Errorf("%s: %q, %q", key, problem, hint)
			}
		})
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v", c.config, got)
		}
	}
}

// The list of pages is read strictly.
func TestPagesOfParts(t *testing.T) {
	page := func(keys ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(keys); i += 2 {
			out[keys[i].(string)] = keys[i+1]
		}
		return out
	}
	const h = "http://h:8100/metrics"
	for name, c := range map[string]struct {
		value any
		want  string // the keys with a problem
	}{
		"one page":      {h, ""},
		"roles":         {[]any{page("url", h, "role", "prefill"), page("url", "http://h:8200/metrics", "role", "decode"), page("url", "http://h/metrics", "role", "router")}, ""},
		"as tables":     {[]map[string]any{page("url", h)}, ""},
		"replicas":      {[]any{h, "http://h:8200/metrics"}, ""},
		"no list":       {int64(7), "server"},
		"empty":         {[]any{}, "server"},
		"no page":       {[]any{int64(7)}, "server[0] server[0].url"},
		"no URL":        {[]any{page("role", "decode")}, "server[0].url"},
		"another key":   {[]any{page("url", h, "rôle", "decode")}, "server[0].rôle"},
		"another type":  {[]any{page("url", h, "role", int64(1))}, "server[0].role"},
		"another role":  {[]any{page("url", h, "role", "both")}, "server[0].role"},
		"twice":         {[]any{h, h}, "server[1].url"},
		"auto in it":    {[]any{"auto"}, "server[0].url"},
		"a router only": {[]any{page("url", h, "role", "router")}, "server"},
	} {
		var got []string
		bad := func(key, problem, hint string) {
			got = append(got, key)
			if problem == "" || hint == "" {
				t.Errorf("%s: %q, %q", key, problem, hint)
			}
		}
		var config Config
		config.Server.DecodeTOML(c.value, func(key, problem, hint string) { bad("server"+key, problem, hint) })
		config.Check(bad)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}
