package why

import (
	"math"
	"slices"

	"bench/experiment/twin"
)

// knownLimits: a side whose requests reached no limit of the batch can have the other's, unless it fits worse with it.
func knownLimits(a, b *Side) {
	adopt := func(limit func(*twin.Model) *int) {
		m := a.Model
		if *limit(&m) > 0 {
			return
		}
		if *limit(&m) = *limit(&b.Model); a.fits(&m) {
			a.Model = m
		}
	}
	if n, _ := twin.MostRunning(a.trials()); n <= b.Model.MaxSequences {
		adopt(func(m *twin.Model) *int { return &m.MaxSequences })
	}
	adopt(func(m *twin.Model) *int { return &m.MaxStepTokens })
}

// shortSteps: steps of few tokens delay first tokens as a longer front end does, by steps. A side has them if it then
// fits with the front end of the other.
func shortSteps(a, b *Side) {
	if a.Model.FrontEnd <= b.Model.FrontEnd+a.Model.Base/2 {
		return
	}
	trials := a.trials()
	best, least := a.Model, math.Inf(1)
	for _, tokens := range []int{128, 256, 512} {
		m := a.Model
		m.MaxStepTokens, m.FrontEnd = tokens, b.Model.FrontEnd
		if loss := m.Misfit(trials); m.MaxSequences < tokens && loss < least {
			best, least = m, loss
		}
	}
	const good = 0.015 // of a trial, so that no other delay is taken for them
	if least < good*float64(len(trials)) {
		a.Model = best
	}
}

// fits reports whether a model is about as near to each percentile of the side as the side's own.
func (s *Side) fits(m *twin.Model) bool { return s.fitting()(m) }

func (s *Side) fitting() func(*twin.Model) bool {
	const exact, doubtful = 0.005, 0.25 // of ln(measured ÷ twin): is none; of its error
	trials := s.trials()
	own := s.Model.Residuals(trials, limits()...)
	return func(m *twin.Model) bool {
		other := m.Residuals(trials, limits()...)
		for i := range own {
			for k, r := range own[i] {
				if k < len(other[i]) && math.Abs(other[i][k].Log) > math.Abs(r.Log)+exact+doubtful*r.Error {
					return false
				}
			}
		}
		return true
	}
}

type pairOfModels [2]twin.Model

// sameServer is the model of both sides together, if it has no other error on one than on the other: with other lengths
// two fits differ where their server does not.
func sameServer(a, b *Side) (twin.Model, bool) {
	const least, deviations = 0.015, 2
	x, y := a.trials(), b.trials()
	m, err := fit(slices.Concat(x, y), max(a.Model.MaxSequences, b.Model.MaxSequences))
	if err != nil || a.Model.MaxSequences != b.Model.MaxSequences || a.Model.MaxStepTokens != b.Model.MaxStepTokens ||
		!a.fits(&m) || !b.fits(&m) {
		return m, false
	}
	medians := []twin.Limit{limits()[0], limits()[2]}
	before, after := m.Residuals(x, medians...), m.Residuals(y, medians...)
	for i := range medians {
		meanA, errA := weighted(before[i])
		meanB, errB := weighted(after[i])
		if math.Abs(meanA-meanB) > max(least, deviations*math.Hypot(errA, errB)) {
			return m, false
		}
	}
	return m, true
}

// common are parts of the server that one side can have from the other.
type common struct {
	parts []string
	from  int // the side that gives them
}

// commonParts: most parts of two servers are equal, and fits tell some of them apart badly. So as few of them as do for
// the requests of a side differ.
func commonParts(a, b *Side) common {
	parts := []string{StepTime, Prefill, FrontEnd, Batching}
	fits := [2]func(*twin.Model) bool{a.fitting(), b.fitting()}
	best, most := common{}, 0
	for set := range 1 << len(parts) {
		c := common{}
		for i, name := range parts {
			if set>>i&1 == 1 {
				c.parts = append(c.parts, name)
			}
		}
		for c.from = range fits {
			models := c.of(pairOfModels{a.Model, b.Model})
			if to := 1 - c.from; len(c.parts) > most && fits[to](&models[to]) {
				best, most = c, len(c.parts)
			}
		}
	}
	return best
}

// of are models with the common parts.
func (c common) of(m pairOfModels) pairOfModels {
	to := 1 - c.from
	own := [2]*twin.Model{&m[c.from], &m[to]}
	at := func(name string) *twin.Model {
		if slices.Contains(c.parts, name) {
			return own[0]
		}
		return own[1]
	}
	m[to] = assembled(at)
	return m
}

// assembled is a server whose parts are those of several.
func assembled(of func(cause string) *twin.Model) twin.Model {
	step, prefill, batch := of(StepTime), of(Prefill), of(Batching)
	return twin.Model{
		Base: step.Base, PerSequence: step.PerSequence, PerContextToken: step.PerContextToken,
		PerPrefillToken: prefill.PerPrefillToken, FreePrefillTokens: prefill.FreePrefillTokens,
		FrontEnd: of(FrontEnd).FrontEnd, MaxSequences: batch.MaxSequences, MaxStepTokens: batch.MaxStepTokens,
	}
}

func fit(trials []twin.Trial, sequences int) (twin.Model, error) {
	m, err := twin.Fit(trials, sequences)
	if err == nil {
		m.FrontEnd = m.MeanFrontEnd(trials)
	}
	return m, err
}

// weighted is the mean of residuals by their errors, with its own.
func weighted(residuals []twin.Residual) (mean, err float64) {
	sum := 0.0
	for _, r := range residuals {
		w := 1 / (r.Error * r.Error)
		mean, sum = mean+w*r.Log, sum+w
	}
	if sum == 0 {
		return 0, math.Inf(1)
	}
	return mean / sum, math.Sqrt(1 / sum)
}

// jackknife fits each side again, without one of its sections.
func jackknife(a, b *Side) (out []pairOfModels) {
	for i := range sections {
		x, errX := a.without(i)
		y, errY := b.without(i)
		if errX == nil && errY == nil {
			out = append(out, pairOfModels{x, b.Model}, pairOfModels{a.Model, y})
		}
	}
	return out
}

func (s *Side) without(section int) (twin.Model, error) {
	rest := s.trials()
	for i := range rest {
		n := len(rest[i].Requests)
		rest[i].Requests = slices.Delete(slices.Clone(rest[i].Requests), section*n/sections, (section+1)*n/sections)
	}
	m, err := twin.Fit(rest, s.Model.MaxSequences)
	if err == nil {
		m.MaxSequences, m.MaxStepTokens = s.Model.MaxSequences, s.Model.MaxStepTokens
		m.FrontEnd = m.MeanFrontEnd(rest)
	}
	return m, err
}
