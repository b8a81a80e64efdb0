package record_test

import (
	"testing"

	"bench/experiment/record"
	fixture "bench/internal/fixturetest"
)

// SGLang leaves out a count of 0: in a row in which any answer has cached tokens, the others have none. So the
// first rotation has a rate of 0, and later ones a rate over all their prompts.
func TestCountsOfZeroAreLeftOut(t *testing.T) {
	var records []*record.Record
	for i := range 6 {
		r := fixture.OKRequest(int64(i)*10_000, int64(i)*10_000+1000, int64(i)*10_000+2000)
		r.I = i
		if i >= 4 {
			r.CachedTokens = new(8) // of 10
		}
		records = append(records, r)
	}
	x := record.CompareRotations(records, 2)
	if first, later := x.First.CachedRate, x.Later.CachedRate; first == nil || *first != 0 || later == nil || *later != 0.4 {
		t.Errorf("%+v", x)
	}
	silent := record.CompareRotations(records[:4], 2)
	if silent.First.CachedRate != nil || silent.Later.CachedRate != nil {
		t.Errorf("%+v of a silent server", silent)
	}
}
