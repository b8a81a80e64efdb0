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

// findEnergy also makes the check: fewer GPUs than the row's are a mistake, others beside them are not.
func (e *Measured) findEnergy(t experiment.Target) {
	var why string
	e.power = unasked
	if e.Energy, why = e.energyOver(&e.Summary, t); e.Energy != nil {
		e.power = passed()
	}
	if why == "" || t.GPUs == 0 {
		return
	}
	severity := record.Note
	if _, of, _ := e.GPU.Energy(t.GPUs); of < t.GPUs {
		severity = record.Caution
	}
	e.power = found(severity, "set [telemetry] gpu to the exporter of the server's machine, or correct gpus in [target]",
		"no energy per token: %s", why)
}

func checkPower(e *Measured) checkResult { return e.power }
