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
	if !errors.As(err, &unknown) || len(unknown.near) == 0 || unknown.near[0] != "meta-llama/Llama-3.1-8B-Instruct" {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(err.Error(), "add an entry to model_configs.json") {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"", " ", "/", "zzzzzzzzzzzzzzzzzzzzz"} {
		if _, err := models.Find(name); !errors.As(err, &unknown) || len(unknown.near) != 0 {
			t.Errorf("Find(%q): %v", name, err)
		}
	}
	for part, want := range map[string]string{"rtx": "rtx-", "tpu": "tpu-", "gb": "gb"} {
		if _, err := BuiltinHardware().Find(part); !errors.As(err, &unknown) || len(unknown.near) == 0 || !strings.HasPrefix(unknown.near[0], want) {
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
	if _, err := models.Find("chat"); !errors.As(err, &unknown) || !unknown.Many || len(unknown.near) != 2 {
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

func TestOwnEntriesComeFirst(t *testing.T) {
	own, err := ParseModels([]byte(entryOf(`"aliases": ["llama-3.1-8b", "Qwen/Qwen3-8B"]`)))
	if err != nil {
		t.Fatal(err)
	}
	models := table(t)
	both := models.With(own)
	for name, want := range map[string]string{
		"a": "a", "LLAMA-3.1-8B": "a", "qwen3-8b": "a", "llama3.1:8b": "meta-llama/Llama-3.1-8B-Instruct", "gpt-oss-20b": "openai/gpt-oss-20b",
	} {
		if m, err := both.Find(name); err != nil || m.ID != want {
			t.Errorf("Find(%q) = %q, %v; want %q", name, m.ID, err, want)
		}
	}
	if len(both) != len(models) { // one more, and Qwen3-8B replaced
		t.Errorf("%d entries, want %d", len(both), len(models))
	}
	if m, _ := models.Find("llama-3.1-8b"); m.ID == "a" || len(m.Aliases) != 3 {
		t.Errorf("the table itself was changed: %+v", m)
	}
}

func TestOwnDevicesComeFirst(t *testing.T) {
	own, err := ParseHardware([]byte(`{"devices": [{"id": "H100-SXM", "bandwidth_gb_s": 3000, "source": "measured"}, {"id": "mine", "bandwidth_gb_s": 9, "source": "s"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	both := BuiltinHardware().With(own)
	if d, err := both.Find("h100-sxm"); err != nil || d.BandwidthGBs != 3000 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := both.Find("mine"); err != nil || d.BandwidthGBs != 9 {
		t.Errorf("%+v, %v", d, err)
	}
	if len(both.Devices) != len(BuiltinHardware().Devices)+1 || both.Efficiency.Link != BuiltinHardware().Efficiency.Link {
		t.Errorf("%d devices, efficiency %+v", len(both.Devices), both.Efficiency)
	}
	own.Efficiency = BuiltinHardware().Efficiency
	own.Efficiency.Link = 0.5
	if both := BuiltinHardware().With(own); both.Efficiency.Link != 0.5 {
		t.Errorf("%+v", both.Efficiency)
	}
}

// The entry that an UnknownError suggests can be parsed.
func TestEntryToWrite(t *testing.T) {
	_, err := table(t).Find(`odd "name"`)
	if own, parse := ParseModels([]byte(err.(*UnknownError).Entry())); parse != nil || own[0].ID != `odd "name"` {
		t.Errorf("%v, %+v", parse, own)
	}
	_, err = BuiltinHardware().Find("my-device")
	if own, parse := ParseHardware([]byte(err.(*UnknownError).Entry())); parse != nil || own.Devices[0].ID != "my-device" {
		t.Errorf("%v, %+v", parse, own)
	}
}
