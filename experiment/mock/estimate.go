package mock

import (
	"time"
)

// RequestMs is about how long a request of these tokens takes, in ms, in a batch that stays full: its decode steps,
// each beside those of the others, and the prompts of the requests that replace ended ones. c must be valid; drift
// and faults are left out.
func (c Config) RequestMs(batch, input, cached, output float64) float64 {
	r, context := c.resolved(), input+output/2
	output /= r.Speculation.perStep() // the steps
	drafts := float64(r.Speculation.Tokens) * output
	if r.fixed() {
		return inMs(r.TTFT) + output*inMs(r.ITL)
	}
	if r.Hardware != "" {
		s, err := r.setup()
		if err != nil { // Check reports it
			return 0
		}
		return s.FrontEndMs() + output*s.DecodeMs(batch, context) + batch*s.PrefillMs(input, cached)
	}
	step := inMs(r.StepBase) + batch*(inMs(r.StepPerSeq)+context*inMs(r.StepPerContextToken))
	return output*step + batch*(input-cached+drafts)*inMs(r.StepPerPrefillToken)
}

// Sequences is the number of requests with this context that run at once; 0 = no limit. c must be valid.
func (c Config) Sequences(context float64) int {
	r := c.resolved()
	if r.fixed() {
		return r.MaxNumSeqs
	}
	return max(1, min(r.MaxNumSeqs, int(float64(r.KVBlocks*r.BlockSize)/max(1, context))))
}

func inMs(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
