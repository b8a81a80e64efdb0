package experiment

import (
	"strings"
	"testing"

	"bench/experiment/workload"
)

func TestCheckTenant(t *testing.T) {
	class := func(name, value string) workload.Class {
		return workload.Class{Headers: map[string]string{name: value}}
	}
	for _, x := range []struct {
		c    workload.Class
		want string
	}{
		{class("x-llm-d-inference-fairness-id", "gold"), ""},
		{class("Host", "h"), "headers.Host: Host is set by bench itself"},
		{class("Content-Length", "1"), "belongs to the transport"},
		{class("x y", "1"), "is not a header name"},
		{class("x-a", "1\r\nx-b: 2"), "control character"},
		{class("Authorization", "sk-verysecret"), "may be a secret"},
		{class("x-api-key", "sk-verysecret"), "may be a secret"},
		{workload.Class{Headers: map[string]string{"x-a": "1", "X-A": "2"}}, "is there twice"},
		{workload.Class{APIKeyEnv: "GOLD_KEY"}, ""},
		{workload.Class{APIKeyEnv: "sk-verysecret"}, "api_key_env: this is not the name"},
	} {
		got := ""
		checkTenant(&x.c, func(key, problem, hint string) { got += key + ": " + problem + " " + hint })
		if (got == "") != (x.want == "") || !strings.Contains(got, x.want) || strings.Contains(got, "verysecret") {
			t.Errorf("%+v: %q, want %q", x.c, got, x.want)
		}
	}
}
