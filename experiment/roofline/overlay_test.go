package roofline

import (
	"testing"
)

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
