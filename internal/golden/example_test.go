package golden

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"bench"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/report"
)

const example = "results/example/20261122T203930Z"

// TestExampleVerifies: the run that the repository ships is as this bench derives it from its records, and reports it.
// -update derives and reports it anew.
func TestExampleVerifies(t *testing.T) {
	bench := func(args ...string) []byte {
		command := exec.Command(binary, args...)
		command.Dir = root
		out, err := command.Output()
		if err != nil {
			t.Errorf("%v: %v: %s", args, err, out)
		}
		return out
	}
	if *update {
		deriveExample(t)
	}
	bench("verify", example)
	name := filepath.Join(example, "summary.md")
	stored, err := os.ReadFile(filepath.Join(root, name))
	switch now := bench("report", example, "--format", "md"); {
	case err == nil && bytes.Equal(now, stored):
	case *update:
		bench("report", example, "--format", "md", "-o", name)
		bench("report", example) // its page
	default:
		t.Error("summary.md is not what bench report writes: go test ./internal/golden -run Example -update", err)
	}
}

func deriveExample(t *testing.T) {
	dir := filepath.Join(root, example)
	run, err := report.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	models, err := roofline.ParseModels(bench.ModelConfigs)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte, err error) {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	again := func(rows []record.Row) error {
		for i := range rows {
			text, err := record.EncodeFile(&rows[i])
			write(rows[i].ID+".json", text, err)
			for j := range run.Manifest.Plan {
				if p := &run.Manifest.Plan[j]; p.ID == rows[i].ID {
					p.SHA256 = record.Sum(text)
				}
			}
		}
		return nil
	}
	by := report.Evaluation{Models: models, Hardware: roofline.BuiltinHardware(), Rows: again}
	if err := run.EvaluateAgain(by); err != nil {
		t.Fatal(err)
	}
	text, err := run.Manifest.Encode()
	write("run.json", text, err)
}
