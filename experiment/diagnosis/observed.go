package diagnosis

import (
	"fmt"

	"bench/experiment/record"
)

func (a *answering) observed(m *record.Manifest) {
	a.Next = nil
	switch a.Lead {
	case LeadShip:
		a.Lead, a.Text = LeadMet, "SLO met at "+a.Load
	case LeadNone:
		a.Lead = LeadMissed
	case LeadMeasured:
		a.Next = &NextSweep{Text: fmt.Sprintf("bench report %s --slo ttft_p95=1s", m.Run), Variable: "--slo",
			Values: []string{}, Why: a.Text}
	}
}
