package export

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/report/foreign"
)

// Every format marks the rows of a prediction, and vLLM's is a prediction again when it is read.
func TestPredictedIsMarked(t *testing.T) {
	s, _ := ours()
	s.Manifest.Predicted = &record.Prediction{Model: "llama-3.1-8b", Hardware: "h100-sxm", GPUs: 2, Precision: "bf16"}
	s.Manifest.Target.Simulated = true
	s.Rows[0].Simulated, s.Rows[0].Predicted = true, true
	var csv, vllm bytes.Buffer
	for _, err := range []error{CSV(&csv, s), VLLM(&vllm, s)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(csv.String(), ",done,predicted,") {
		t.Errorf("no mark in:\n%s", csv.String())
	}
	back, err := foreign.Read("x.json", vllm.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.Manifest.Predicted, s.Manifest.Predicted) || !back.Rows[0].Predicted || !back.Rows[0].Simulated {
		t.Errorf("%+v", back.Manifest.Predicted)
	}
	if _, err := foreign.Read("x.json", bytes.Replace(vllm.Bytes(), []byte(`"gpus":2`), []byte(`"gpus":"2"`), 1)); err == nil || !strings.Contains(err.Error(), "predicted: ") {
		t.Errorf("another type: %v", err)
	}
}

// Measured rows have no mark.
func TestMeasuredIsNotMarked(t *testing.T) {
	s, _ := ours()
	var vllm bytes.Buffer
	if VLLM(&vllm, s) != nil || strings.Contains(vllm.String(), "predicted") {
		t.Errorf("%s", vllm.String())
	}
}
