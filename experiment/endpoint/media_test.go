package endpoint

import (
	"testing"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/target"
	"bench/experiment/workload"
)

// TestMedia: prompts with images have the length that was asked by the server's count; images have their size, and none
// comes twice. The server is asked once for the tokens of an image.
func TestMedia(t *testing.T) {
	s := mocked(t, mock.Config{}, experiment.Target{}, target.Chat)
	spec := point()
	spec.API, spec.Input, spec.Concurrency, spec.Requests = target.Chat, workload.Fixed(64), 4, 20
	spec.Images = &workload.Images{Count: 2, Width: 64, Height: 48}
	row, _ := measure(t, s, spec)
	again, _ := measure(t, s, spec)
	if row.Lengths.PromptOff != 0 || row.Summary.Requests.Completed != 20 || row.ImageTokens != again.ImageTokens {
		t.Fatalf("%+v, %d and %d tokens an image", row.Lengths, row.ImageTokens, again.ImageTokens)
	}
	probes, seen := 0, map[string]bool{}
	for _, r := range truths(t, s) {
		if len(r.Images) == 1 {
			probes++
			continue
		}
		for _, im := range r.Images {
			if im.Width != 64 || im.Height != 48 || seen[im.SHA256] {
				t.Errorf("%+v", im)
			}
			seen[im.SHA256] = true
		}
	}
	if probes != 1 {
		t.Errorf("the server was asked %d times for the tokens of an image", probes)
	}
}
