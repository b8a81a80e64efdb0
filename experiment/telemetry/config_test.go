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
		{Config{}, ""}, {Config{"auto", "nvidia-smi"}, ""}, {Config{"off", "off"}, ""}, {Config{"http://h:1/metrics", "https://u:p@h/metrics"}, ""},
		{Config{"nvidia-smi", "on"}, "server gpu"}, {Config{"h:8000/metrics", "ftp://h/x"}, "server gpu"}, {Config{"http://", "http://h/#a"}, "server gpu"},
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
