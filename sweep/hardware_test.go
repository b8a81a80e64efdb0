package sweep

import (
	"strings"
	"testing"

	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/roofline"
)

// hardwareSource is the roofline of a matrix's hardware with a known model.
func hardwareSource(t *testing.T, text string) record.RooflineSource {
	t.Helper()
	models := roofline.Models{{ID: "m", Layers: 2, Hidden: 64, Heads: 4, KVHeads: 2, HeadDim: 16, Intermediate: 128, Vocab: 1000}}
	return record.NewRooflineSource(models, roofline.BuiltinHardware(), "m", mustParse(t, text).Target)
}

// TestOtherHardware: a resumed run whose matrix corrects only the hardware keeps its rows, evaluates them again
// from the same records, and keeps them as they are from then on. Another spec is measured again.
func TestOtherHardware(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	at := func(hardware string) string {
		return strings.Replace(tiny, "[defaults]", "[target]\nhardware = \""+hardware+"\"\ngpus = 2\ngpu_hour_usd = 3.0\n[defaults]", 1)
	}
	mistyped, right := at("h100-smx"), at("h100-sxm")
	first := complete(t, base, mistyped, Options{Out: t.TempDir(), Roofline: hardwareSource(t, mistyped)})
	before := files(t, first.Dir)
	row, ok := directory{path: first.Dir}.row("a-r1")
	if !ok || row.Roofline != nil {
		t.Fatalf("%v, %+v", ok, row.Roofline)
	}
	var events []string
	kept := []string{"started", "kept a-r1", "kept b-r1"}
	for attempt := range 2 {
		events = nil
		complete(t, base, right, Options{Resume: first.Dir, Roofline: hardwareSource(t, right), Event: log(&events)})
		if strings.Join(events, ", ") != strings.Join(kept, ", ") {
			t.Fatalf("resumed %d times: %q", attempt+1, events)
		}
		row, ok = directory{path: first.Dir}.row("a-r1")
		if !ok || row.Roofline == nil || row.Roofline.Hardware != "h100-sxm" || row.SpecHash != manifestOf(t, first.Dir).Plan[0].SpecHash {
			t.Errorf("%v, %+v", ok, row)
		}
	}
	after := files(t, first.Dir)
	for name := range before {
		if strings.HasSuffix(name, ".zst") && before[name] != after[name] {
			t.Errorf("%s was touched", name)
		}
	}
	events = nil
	left, err := FindKept(mustParse(t, mistyped), first.Dir)
	if err != nil || !left.Done["a-r1"] || !left.Done["b-r1"] {
		t.Errorf("a dry run keeps %+v, %v", left, err)
	}
	other := strings.Replace(mistyped, "output = 4", "output = 5", 1)
	complete(t, base, other, Options{Resume: first.Dir, Event: log(&events)})
	if strings.Join(events, ", ") != "started, begun a-r1, finished a-r1, begun b-r1, finished b-r1" {
		t.Errorf("another spec on other hardware: %q", events)
	}
}
