package schema

import (
	"strings"
	"testing"

	"bench/experiment/published"
	"bench/experiment/roofline"
	fixture "bench/internal/reporttest"
	"bench/report"
)

// TestSchemaOfPublished: published figures beside a point and beside a prediction are in the schemas.
func TestSchemaOfPublished(t *testing.T) {
	compiled := compile(t)
	run := &report.Run{}
	run.Manifest, run.Rows = fixture.Published()
	s := setupOf(t, "deepseek-r1", "h200-sxm", 8)
	beside, others := s.Predict(roofline.Workload{Input: 922, Output: 922}), s.Predict(roofline.Workload{Input: 10, Output: 10})
	q := published.Query{Model: s.Model.ID, Precision: s.WeightPrecision(), GPU: s.Device.ID, GPUs: 8, Input: 922, Output: 922, Concurrency: 4}
	for _, f := range published.Near(q) {
		beside.Published = append(beside.Published, f.Beside(published.Own{TPOTMs: 10}))
	}
	others.PublishedFor = published.ShapesOf(q)
	for _, x := range []struct {
		schema, text, want string
	}{
		{"report", string(saidOf(t, run)), `"ttft_over_published":`},
		{"predict", string(marshalled(t, beside)), `"tpot_over_published":`},
		{"predict", string(marshalled(t, beside)), `"least_length_share":0.8`},
		{"predict", string(marshalled(t, others)), `"published_for":`},
	} {
		if !strings.Contains(x.text, x.want) {
			t.Errorf("no %s in %s", x.want, x.text)
		}
		validate(t, compiled, x.want, documents{x.schema: {[]byte(x.text)}})
	}
}
