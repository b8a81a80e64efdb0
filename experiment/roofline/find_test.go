package roofline

import (
	"errors"
	"strings"
	"testing"
)

func TestFindModel(t *testing.T) {
	models := table(t)
	for name, want := range map[string]string{
		"meta-llama/Llama-3.1-8B-Instruct":  "meta-llama/Llama-3.1-8B-Instruct",
		"META-LLAMA/llama-3.1-8b-instruct":  "meta-llama/Llama-3.1-8B-Instruct",
		"Llama-3.1-8B-Instruct":             "meta-llama/Llama-3.1-8B-Instruct",
		"/models/hf/Llama-3.1-8B-Instruct/": "meta-llama/Llama-3.1-8B-Instruct",
		"other-org/Llama-3.1-8B-Instruct":   "meta-llama/Llama-3.1-8B-Instruct",
		"llama3.1:8b":                       "meta-llama/Llama-3.1-8B-Instruct",
		"llama-3.3-70b-instruct":            "meta-llama/Llama-3.1-70B-Instruct",
		"gpt-oss-120b":                      "openai/gpt-oss-120b",
		"Qwen3-235B-A22B-Instruct-2507-FP8": "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8",
		" deepseek-r1 ":                     "deepseek-ai/DeepSeek-R1",
	} {
		if m, err := models.Find(name); err != nil || m.ID != want {
			t.Errorf("Find(%q) = %q, %v; want %q", name, m.ID, err, want)
		}
	}
}

func TestFindNamesNearOnesAndTheFile(t *testing.T) {
	models := table(t)
	_, err := models.Find("org/Llama-3.1-8B-Instruct-AWQ")
	var unknown *UnknownError
	if !errors.As(err, &unknown) || len(unknown.Near) == 0 || unknown.Near[0] != "meta-llama/Llama-3.1-8B-Instruct" {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(err.Error(), "add an entry to model_configs.json") {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"", " ", "/", "zzzzzzzzzzzzzzzzzzzzz"} {
		if _, err := models.Find(name); !errors.As(err, &unknown) || len(unknown.Near) != 0 {
			t.Errorf("Find(%q): %v", name, err)
		}
	}
	for part, want := range map[string]string{"rtx": "rtx-", "tpu": "tpu-", "gb": "gb"} {
		if _, err := BuiltinHardware().Find(part); !errors.As(err, &unknown) || len(unknown.Near) == 0 || !strings.HasPrefix(unknown.Near[0], want) {
			t.Errorf("Find(%q): %v, want a %s first", part, err, want)
		}
	}
	if _, err := BuiltinHardware().Find("h100-sxn"); err == nil || !strings.Contains(err.Error(), `unknown device "h100-sxn" (similar: h100-sxm`) {
		t.Errorf("got %v", err)
	}
}

func TestFindByFragmentAndAmbiguity(t *testing.T) {
	models := Models{
		{ID: "a/chat", Match: []string{"prod"}},
		{ID: "b/chat", Match: []string{"Prod-Long"}},
	}
	for name, want := range map[string]string{"PROD-v3": "a/chat", "prod-long-v3": "b/chat", "b/Chat": "b/chat"} {
		if m, err := models.Find(name); err != nil || m.ID != want {
			t.Errorf("Find(%q) = %q, %v; want %q", name, m.ID, err, want)
		}
	}
	var unknown *UnknownError
	if _, err := models.Find("chat"); !errors.As(err, &unknown) || !unknown.Many || len(unknown.Near) != 2 {
		t.Errorf("got %v", err)
	}
}

func TestFindDevice(t *testing.T) {
	for name, want := range map[string]string{"h100-sxm": "h100-sxm", "H100": "h100-sxm", "nvidia h100 80gb hbm3": "h100-sxm", "NVIDIA H200": "h200-sxm"} {
		if d, err := BuiltinHardware().Find(name); err != nil || d.ID != want {
			t.Errorf("Find(%q) = %q, %v; want %q", name, d.ID, err, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"kitten", "sitting", 3}, {"", "abc", 3}, {"abc", "", 3}, {"flaw", "lawn", 2}, {"same", "same", 0}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
