package published_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	root "bench"
	"bench/experiment/published"
	"bench/experiment/roofline"
	"bench/internal/packed"
)

var date = regexp.MustCompile(`^20\d\d-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?$`)

// TestBuiltin holds the files to the tables of models and devices, and to the size of what they add to the program.
func TestBuiltin(t *testing.T) {
	size := int64(0)
	for _, name := range []string{"figures.csv", "held_back.csv"} {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		shipped, err := os.ReadFile(name + ".gz")
		if err != nil {
			t.Fatal(err)
		}
		if packed.Text(shipped) != string(file) {
			t.Errorf("%s.gz is another text: gzip -9nkf %[1]s", name)
		}
		size += int64(len(file))
	}
	if size > 250_000 {
		t.Errorf("the files have %d bytes", size)
	}
	models, err := roofline.ParseModels(root.ModelConfigs)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range published.All() {
		if s := published.SourceOf(f.Source); s.Name == "" || s.License == "" {
			t.Errorf("%+v: its source is %+v", f, s)
		}
		if m, err := models.Find(f.Model); err != nil || m.ID != f.Model {
			t.Errorf("%+v: the model is no ID of the table: %v", f, err)
		}
		if d, err := roofline.BuiltinHardware().Find(f.GPU); err != nil || d.ID != f.GPU {
			t.Errorf("%+v: the GPU is no ID of the table: %v", f, err)
		}
		if !slices.Contains(roofline.PrecisionNames(), f.Precision) {
			t.Errorf("%+v: unknown precision", f)
		}
		times, most := f.Concurrency > 0 && f.TTFTMs > 0 && f.TPOTMs > 0, f.OutputPerGPU > 0
		lengths := f.Input > 0 && f.Output > 0
		if times == most || lengths == (f.Scenario != "") || f.Engine == "" || f.GPUs < f.ExpertParallel || f.ExpertParallel < 1 ||
			f.Date != "" && !date.MatchString(f.Date) {
			t.Errorf("%+v lacks or contradicts something", f)
		}
	}
}

// TestHeldBack: no time that constants are fitted to is of a model whose times are held back, and no figure stands
// twice.
func TestHeldBack(t *testing.T) {
	fitted, seen, held := map[string]bool{}, map[published.Figure]bool{}, 0
	for _, f := range published.All() {
		if !f.HeldBack && f.Concurrency > 0 {
			fitted[f.Model] = true
		}
	}
	for _, f := range published.All() {
		if f.HeldBack {
			held++
			if fitted[f.Model] {
				t.Errorf("%+v: constants are fitted to this model", f)
			}
		}
		if seen[f] {
			t.Errorf("%+v again", f)
		}
		seen[f] = true
	}
	if len(fitted) != 4 || held < 900 {
		t.Errorf("constants are fitted to %d models; %d figures are held back", len(fitted), held)
	}
}
