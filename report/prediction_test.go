package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
)

// asPrediction is the fixture as a prediction in which everything takes half as long.
func asPrediction() *Run {
	r := fixtureRun()
	r.Dir, r.Manifest.Run = "predicted", "20260101T000000Z"
	r.Manifest.Predicted = &record.Prediction{Model: "m", Hardware: "h100-sxm", GPUs: 2, Precision: "bf16",
		LeftOut: []record.LeftOut{{Row: "cold", Why: "a cold start is a property of a real server"}}}
	for i := range r.Rows {
		if s := r.Rows[i].Summary.TTFT; s != nil {
			half := *s
			half.P50 /= 2
			r.Rows[i].Summary.TTFT = &half
		}
	}
	return r
}

func TestLayBehind(t *testing.T) {
	measured, other, prediction := fixtureRun(), fixtureRun(), asPrediction()
	other.Manifest.Matrix = "another"
	rest := LayBehind([]*Run{prediction, measured, other})
	if len(rest) != 2 || rest[0] != measured || measured.Prediction != prediction || other.Prediction != nil {
		t.Fatalf("%d runs left", len(rest))
	}
	o := measured.Analyze()
	b := measured.beside(&o)
	if b.Run != "20260101T000000Z" || len(b.Points) == 0 || len(b.Workloads) == 0 {
		t.Fatalf("%+v", b)
	}
	for _, p := range b.Points {
		if p.TTFTMs != nil && math.Abs(p.TTFTMs.Ratio-2) > 1e-9 {
			t.Errorf("%s: %+v", p.Point, *p.TTFTMs)
		}
	}
	for _, w := range b.Workloads {
		if w.Operating.Measured != w.Operating.Predicted {
			t.Errorf("%s: %+v", w.Workload, w.Operating)
		}
	}
	if alone := LayBehind([]*Run{prediction}); len(alone) != 1 || alone[0] != prediction {
		t.Error("a prediction alone is not shown")
	}
	if two := LayBehind([]*Run{measured, asPrediction()}); len(two) != 2 {
		t.Error("a second prediction vanished")
	}
}

// What a prediction states otherwise than the measured run is beside the figures.
func TestPredictionDiffers(t *testing.T) {
	measured, prediction := fixtureRun(), asPrediction()
	LayBehind([]*Run{measured, prediction})
	roofline := measured.Rows[0].Roofline
	roofline.Weights = "bf16"
	*prediction.Manifest.Predicted = record.Prediction{Model: roofline.Model, Hardware: roofline.Hardware, GPUs: roofline.GPUs, Precision: "bf16"}
	o := measured.Analyze()
	points, _ := besideTables(measured, &o)
	if b := measured.beside(&o); len(b.Differs) != 0 || strings.Contains(points.Note, "Not the same setup") {
		t.Errorf("differs: %q", b.Differs)
	}
	*prediction.Manifest.Predicted = record.Prediction{Model: "qwen3-32b", Hardware: "l4", GPUs: 4, Precision: "fp8"}
	prediction.Manifest.MatrixHash = "other"
	points, _ = besideTables(measured, &o)
	want := []string{"model llama-3.1-8b, predicted qwen3-32b", "hardware h100-sxm, predicted l4", "GPUs 1, predicted 4", "precision bf16, predicted fp8", "matrix text 5feceb66, predicted other"}
	if b := measured.beside(&o); !slices.Equal(b.Differs, want) || !strings.Contains(points.Note, "Not the same setup: "+want[0]+"; ") {
		t.Errorf("differs: %q", b.Differs)
	}
}

func TestPredictionSaysSo(t *testing.T) {
	r := asPrediction()
	if lines := r.Notices(); r.Tag() != "PREDICTED" || !strings.HasPrefix(lines[0], "PREDICTED, not measured: m in bf16 on 2 × h100-sxm") ||
		lines[1] != "row cold is not predicted: a cold start is a property of a real server" {
		t.Errorf("%s: %q", r.Tag(), lines)
	}
	o := r.Analyze()
	for _, w := range o.Answer.Workloads {
		if h := w.Headline(); !strings.HasSuffix(h, "(predicted)") || strings.HasPrefix(h, "MEASURED") {
			t.Error(h)
		}
	}
	if h := r.Headline(); h.Server != "predicted" {
		t.Errorf("server %q", h.Server)
	}
}
