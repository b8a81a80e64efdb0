package matrix

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindSecrets(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "name = \"chat\"\ninput = { tokens = 3 }\n# a comment\n", "name = \"chat\"\ninput = { tokens = 3 }\n# a comment\n"},
		{"tokens are no token", "prefix = { tokens = 20 }\n[slo]\nmin_output_tokens_per_s = 20", "prefix = { tokens = 20 }\n[slo]\nmin_output_tokens_per_s = 20"},
		{"headers", "[target.headers]\nX-Tenant = \"abcd\" # mine\n\n# why\n[defaults]\nrate = 1", "[target.headers]\nX-Tenant = \"****\" * ****\n\n# why\n[defaults]\nrate = 1"},
		{"headers, quoted and spaced", "[ target . \"headers\" ]\nX = 'abcd'", "[ target . \"headers\" ]\nX = '****'"},
		{"headers in one line", `target = { headers = { X = "a=b" } }`, `target = { headers = { X = "*=*" } }`},
		{"dotted", `target.headers.X = "abcd"`, `target.headers.X = "****"`},
		{"names", "API_KEY = 'a'\nmy-api-key = 'b'\npassword = 'c'\n\"auth\" = 'd'\nhf_token='e'", "API_KEY = '*'\nmy-api-key = '*'\npassword = '*'\n\"auth\" = '*'\nhf_token='*'"},
		{"a comment that was a line", `# api_key = "abc"`, `# api_key = "***"`},
		{"user info", `endpoint = "https://me:pa/ss@h:8000/v1"`, `endpoint = "https://********@h:8000/v1"`},
		{"user info without a scheme", `endpoint = "me:pass@h:8000"`, `endpoint = "*******@h:8000"`},
		{"user info of several endpoints", `endpoints = ["http://me:pass@a:1", "http://you:word@b:1"]`, `endpoints = ["http://*******@a:1", "http://********@b:1"]`},
		{"the same without a scheme", "endpoints = [\n\"me:pass@a:1\", \"b:1\", 'you:word@c:1',\n]", "endpoints = [\n\"*******@a:1\", \"b:1\", '********@c:1',\n]"},
		{"several lines", "api_key = \"\"\"\nabc\ndef\"\"\"\nrate = 1", "api_key = \"\"\"\n***\n***\"\"\"\nrate = 1"},
		{"a list over lines", "token = [\n  \"abc\",\n]\nrate = 1", "token = [\n  \"***\",\n]\nrate = 1"},
		{"headers of a class", "[[row.mix]]\nheaders = { \"x-tenant\" = \"gold-plated\" }\napi_key_env = \"GOLD_KEY\"\n[row.mix.headers]\nx-tier = \"a\"", "[[row.mix]]\nheaders = { \"x-tenant\" = \"gold-plated\" }\napi_key_env = \"GOLD_KEY\"\n[row.mix.headers]\nx-tier = \"a\""},
		{"secrets of a class", "[[row.mix]]\nheaders = { x-tier = \"a\", x-auth = \"b\" }\napi_key_env = \"sk-a\"\n[row.mix.headers]\nx-session = \"a\"\n[target.headers]\nx-tier = \"a\"", "[[row.mix]]\nheaders = { x-tier = \"*\", x-auth = \"*\" }\napi_key_env = \"****\"\n[row.mix.headers]\nx-session = \"*\"\n[target.headers]\nx-tier = \"*\""},
		{"names behind a secret", `env = { MY_SECRET = "ab", B = "c, d = e" }`, `env = { MY_SECRET = "**", B = "*, * = *" }`},
		{"values of an argument", `command = ["serve", "--api-key", "k1", 'k-2', "--port", "80"]`, `command = ["serve", "--api-key", "**", '***', "--port", "80"]`},
		{"lists elsewhere", "rate = [\n  1,\n]\n", "rate = [\n  1,\n]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, FindSecrets(tt.text).Masked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzFindSecrets: a masked text has the lines and columns of the text, and never a secret's value.
func FuzzFindSecrets(f *testing.F) {
	f.Add("[target.headers]\nA = \"b\"", "plain")
	f.Add("x = '''", "a\\\"b")
	f.Fuzz(func(t *testing.T, before, value string) {
		if strings.ContainsAny(before, "\"'[=") || strings.ContainsAny(value, "\"'\n\r{}[],= \t*") || len(value) < 8 || strings.Contains(before, value) {
			t.Skip()
		}
		s := FindSecrets(before + "\n[target.headers]\nk = \"" + value + "\"\n")
		if strings.Contains(s.Masked[len(before):], value) {
			t.Errorf("%q is shown in %q", value, s.Masked)
		}
		if strings.Contains(s.Hide("say "+value), value) {
			t.Errorf("%q is not hidden", value)
		}
		if got, want := strings.Count(s.Masked, "\n"), strings.Count(before, "\n")+3; got != want {
			t.Errorf("%d lines, not %d", got, want)
		}
	})
}

// A short value of a header that is no secret by name is an ordinary word elsewhere: names of rows stay.
func TestShortHeaderValues(t *testing.T) {
	const elsewhere = "saturation-prod, X-Env, prod-long"
	for text, want := range map[string]string{
		"[target.headers]\nX-Env = \"prod\"":                       elsewhere,
		"[target]\nheaders = { X-Env = \"prod\", X-Tier = \"a\" }": elsewhere,
		"target.headers.X-Env = \"prod\"":                          elsewhere,
		"[target.headers]\nX-Env = \"prod-long\"":                  "saturation-prod, X-Env, ***",
		"[target.headers]\nX-Api-Key = \"prod\"":                   "saturation-***, X-Env, ***-long",
		"[target.headers]\n\"X-Api-Key\" = \"prod\"":               "saturation-***, X-Env, ***-long",
		"[target]\nheaders = { X-Auth = \"prod\" }":                "saturation-***, X-Env, ***-long",
		"password = \"prod\"":                                      "saturation-***, X-Env, ***-long",
	} {
		s := FindSecrets(text)
		if got := s.Hide(elsewhere); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if strings.Contains(s.Masked, "prod") {
			t.Errorf("%s is shown as %s", text, s.Masked)
		}
	}
}
