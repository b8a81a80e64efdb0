package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bench/experiment/roofline"
)

// TestSaveDevice: --save keeps what else is in the file, and replaces it as a whole: a second name of the old file
// keeps the old content.
func TestSaveDevice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gpus.json")
	before := `{"about": "ours", "devices": [{"id": "my-gpu", "bandwidth_gb_s": 864, "source": "datasheet"}]}`
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(file, file+".old"); err != nil {
		t.Skip(err)
	}
	d, err := roofline.BuiltinHardware().Find("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	if err := (&predictFlags{save: file}).saveDevice(d); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"about": "ours"`, `"my-gpu"`, `"h100-sxm"`} {
		if !strings.Contains(string(after), want) {
			t.Errorf("no %s in\n%s", want, after)
		}
	}
	if old, err := os.ReadFile(file + ".old"); err != nil || string(old) != before {
		t.Errorf("written in place: a crash would have lost\n%s\n(%v)", old, err)
	}
}
