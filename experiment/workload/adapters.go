package workload

import (
	"fmt"
	"math"
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

func (c *Class) checkModel(key string, bad func(key, problem, hint string)) {
	if c.Adapters != nil {
		c.Adapters.check(key, bad)
	}
	if c.Adapters != nil && c.Model != "" {
		bad(key+"model", "model and adapters exclude each other", "remove model, or add its name to names of adapters")
	}
	if c.Leave != nil {
		c.Leave.check(key, bad)
	}
	if c.Answers != nil {
		c.Answers.check(key, bad)
	}
}

func (a *Adapters) check(key string, bad func(key, problem, hint string)) {
	key += "adapters."
	if len(a.Names) == 0 {
		bad(key+"names", "adapters without names", adaptersHint)
	}
	for i, name := range a.Names {
		at := fmt.Sprintf("%snames[%d]", key, i)
		switch {
		case strings.TrimSpace(name) == "":
			bad(at, "an adapter has an empty name", adaptersHint)
		case slices.Contains(a.Names[:i], name):
			bad(at, fmt.Sprintf("adapter %q is in the list twice", name),
				"write weights = [2, 1] to send more requests to one")
		}
	}
	a.checkPopularity(key, bad)
}

func (a *Adapters) checkPopularity(key string, bad mistakes) {
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
	if a == nil {
		return nil
	}
	if len(a.Weights) == 0 {
		return zipfSums(a.Zipf, len(a.Names))
	}
	sums, sum := make([]float64, len(a.Weights)), 0.0
	for i, w := range a.Weights {
		sum += w
		sums[i] = sum
	}
	return sums
}

// zipfSums is the running sum of the popularity of n things, of which the k-th is k^-exponent as frequent as the
// first; nil = all are equally popular.
func zipfSums(exponent float64, n int) []float64 {
	if exponent == 0 {
		return nil
	}
	sums, sum := make([]float64, n), 0.0
	for k := range sums {
		sum += math.Pow(float64(k+1), -exponent)
		sums[k] = sum
	}
	return sums
}

// model is the name of the model of arrival i; empty = the target's. All turns of a conversation have the same.
func (p *Plan) model(class, i int) string {
	c := &p.classes[class]
	a := c.Adapters
	switch {
	case a == nil:
		return c.Model
	case a.Order == roundRobin:
		return a.Names[i%len(a.Names)]
	}
	src := p.rand(streamModel, uint64(i))
	if sums := p.adapters[class]; sums != nil {
		return a.Names[sort.SearchFloat64s(sums, src.Float64()*sums[len(sums)-1])]
	}
	return a.Names[src.IntN(len(a.Names))]
}

func (c *Class) Models() []string {
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
	if models := c.Models(); models != nil {
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
