package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
)

const roundRobin = "round_robin"

// Adapters are LoRA adapters, or other names under which the server serves models: each request is sent to one of
// them, which its index decides. At most one of Weights, Zipf and Order is set; without any of them the adapters are
// equally popular.
type Adapters struct {
	Names []string `toml:"names" json:"names"` // as the server lists them in /v1/models
	// share of each, as a fraction of their sum; nil = equal
	Weights []float64 `toml:"weights" json:"weights,omitempty"`
	// popularity: the k-th is k^-zipf as frequent as the first; 0 = equal
	Zipf  float64 `toml:"zipf" json:"zipf,omitempty"`
	Order string  `toml:"order" json:"order,omitempty"` // "round_robin": one after the other; empty = drawn
}

const adaptersHint = `write names = ["sql", "chat"]: the names that the server lists in /v1/models`

func (c *Class) checkModel(key string, bad mistakes) {
	if c.Adapters != nil {
		c.Adapters.check(key, bad)
		bad.unless(c.Model == "", key+"model", "remove model, or add its name to names of adapters",
			"model and adapters exclude each other")
	}
	if c.Leave != nil {
		c.Leave.check(key, bad)
	}
	if c.Answers != nil {
		c.Answers.check(key, bad)
	}
}

func (a *Adapters) check(key string, bad mistakes) {
	key += "adapters."
	bad.unless(len(a.Names) > 0, key+"names", adaptersHint, "adapters without names")
	for i, name := range a.Names {
		at, none := fmt.Sprintf("%snames[%d]", key, i), strings.TrimSpace(name) == ""
		bad.unless(!none, at, adaptersHint, "an adapter has an empty name")
		bad.unless(none || !slices.Contains(a.Names[:i], name), at, "write weights = [2, 1] to send more requests to one",
			"adapter %q is in the list twice", name)
	}
	bad.unless(a.Order == "" || a.Order == roundRobin, key+"order",
		`write order = "round_robin", or leave it out: then adapters are drawn`, "unknown order %q", a.Order)
	bad.unless(a.Zipf >= 0 && a.Zipf <= 10, key+"zipf", "write zipf = 1.0; 0 makes all adapters equally popular",
		"zipf %v is not an exponent from 0 to 10", a.Zipf)
	bad.unless(count(len(a.Weights) > 0, a.Zipf != 0, a.Order != "") <= 1, key+"weights", "keep one of them",
		"weights, zipf and order exclude each other")
	bad.unless(len(a.Weights) == 0 || len(a.Weights) == len(a.Names), key+"weights", "write one weight for each name",
		"%d weights for %d adapters", len(a.Weights), len(a.Names))
	for i, w := range a.Weights {
		bad.unless(w > 0 && !math.IsInf(w, 0), fmt.Sprintf("%sweights[%d]", key, i), "write weights = [3, 1]",
			"weight must be above 0")
	}
}

func count(is ...bool) (n int) {
	for _, yes := range is {
		if yes {
			n++
		}
	}
	return n
}

// popularity is the running sum of the adapters' weights; nil = equal, or one after the other.
func (a *Adapters) popularity() []float64 {
	switch {
	case a == nil:
		return nil
	case len(a.Weights) == 0:
		return zipfSums(a.Zipf, len(a.Names))
	}
	return runningSums(a.Weights)
}

// zipfSums is the running sum of the popularity of n things, of which the k-th is k^-exponent as frequent as the
// first; nil = all are equally popular.
func zipfSums(exponent float64, n int) []float64 {
	if exponent == 0 {
		return nil
	}
	weights := make([]float64, n)
	for k := range weights {
		weights[k] = math.Pow(float64(k+1), -exponent)
	}
	return runningSums(weights)
}

func runningSums(weights []float64) []float64 {
	sums := slices.Clone(weights)
	for i := 1; i < len(sums); i++ {
		sums[i] += sums[i-1]
	}
	return sums
}

// pick draws one of n things by the running sum of their popularity; nil = all are equally popular.
func pick(src *rand.Rand, sums []float64, n int) int {
	if sums == nil {
		return src.IntN(n)
	}
	return sort.SearchFloat64s(sums, src.Float64()*sums[n-1])
}

// model is the name of the model of arrival i; empty = the target's. All turns of a conversation have the same.
func (p *drawn) model(class, i int) string {
	c := &p.classes[class]
	a := c.Adapters
	switch {
	case a == nil:
		return c.Model
	case a.Order == roundRobin:
		return a.Names[i%len(a.Names)]
	}
	return a.Names[pick(p.rand(streamModel, uint64(i)), p.adapters[class], len(a.Names))]
}

func (c *Class) models() []string {
	switch {
	case c.Adapters != nil:
		return c.Adapters.Names
	case c.Model != "":
		return []string{c.Model}
	}
	return nil
}

// modelsOrNone has an empty name for the target's model.
func (c *Class) modelsOrNone() []string {
	if models := c.models(); models != nil {
		return models
	}
	return []string{""}
}

func (w Workload) HasEndpoints() bool {
	return slices.ContainsFunc(w.Classes(), func(c Class) bool { return c.Endpoint != "" })
}

func (w Workload) HasModels() bool {
	names := map[string]bool{}
	for _, c := range w.Classes() {
		for _, name := range c.modelsOrNone() {
			names[name] = true
		}
	}
	return len(names) > 1
}
