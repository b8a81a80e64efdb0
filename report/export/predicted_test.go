package export

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	parquet "github.com/parquet-go/parquet-go"

	"bench/experiment/record"
	"bench/report/foreign"
)

// Every format marks the rows of a prediction, and vLLM's is a prediction again when it is read.
func TestPredictedIsMarked(t *testing.T) {
	s, _ := ours()
	s.Manifest.Predicted = &record.Prediction{Model: "llama-3.1-8b", Hardware: "h100-sxm", GPUs: 2, Precision: "bf16"}
	s.Manifest.Target.Simulated = true
	s.Rows[0].Simulated, s.Rows[0].Predicted = true, true
	var csv, bench, gauges, lines, vllm bytes.Buffer
	for _, err := range []error{CSV(&csv, s), GoBenchmark(&bench, s), OpenMetrics(&gauges, s), Parquet(&lines, s), VLLM(&vllm, s)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for mark, text := range map[string]string{",done,predicted,": csv.String(), " 1 predicted\n": bench.String(), `simulated="predicted"`: gauges.String()} {
		if !strings.Contains(text, mark) {
			t.Errorf("no %q in:\n%s", mark, text)
		}
	}
	requests, err := parquet.Read[Request](bytes.NewReader(lines.Bytes()), int64(lines.Len()))
	if err != nil || requests[0].Simulated != "predicted" {
		t.Errorf("%v, %+v", err, requests[0])
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
	var bench, vllm bytes.Buffer
	if GoBenchmark(&bench, s) != nil || VLLM(&vllm, s) != nil || strings.Contains(bench.String()+vllm.String(), "predicted") {
		t.Errorf("%s\n%s", bench.String(), vllm.String())
	}
}
