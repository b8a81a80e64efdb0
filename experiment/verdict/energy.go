package verdict

import (
	"bench/experiment"
	"bench/experiment/record"
)

// noPower is the reason of a row whose GPUs' power was not collected.
const noPower = "GPU power not collected: set gpu in [telemetry]"

// energyOver is the energy of the row's GPUs over the output tokens of all its requests, or of a class; nil without
// tokens. why: power was read, but it is not that of the row's GPUs.
func (e *Measured) energyOver(s *record.Summary, t experiment.Target) (x *record.Energy, why string) {
	if e.GPU == nil {
		return nil, ""
	}
	joules, gpus, why := e.GPU.Energy(t.GPUs)
	seconds := e.Window.Seconds()
	tokens := s.Throughput.OutputTokensPerS * seconds
	if joules == 0 || tokens <= 0 {
		return nil, why
	}
	return &record.Energy{GPUs: gpus, Joules: joules, PowerW: joules / seconds, PerToken: joules / tokens,
		TokensPerJoule: tokens / joules}, ""
}

func checkPower(e *Measured) checkResult {
	switch {
	case e.noEnergy != "":
		return caution("set [telemetry] gpu to the exporter of the server's machine, or correct gpus in [target]",
			"no energy per token: %s", e.noEnergy)
	case e.Energy == nil:
		return unasked
	}
	return passed()
}
