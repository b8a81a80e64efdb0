package experiment

import (
	"fmt"
	"math"
)

// Owned is what the target costs where nobody pays for it by the hour, and what
// else its price rests on: keys of [target], all of one GPU with its share of
// the server around it. 0 = not stated.
type Owned struct {
	GPUPriceUSD  float64 `toml:"gpu_price_usd" json:"gpu_price_usd,omitempty"`   // to buy
	GPULifeYears float64 `toml:"gpu_life_years" json:"gpu_life_years,omitempty"` // until it is written off
	GPUWatts     float64 `toml:"gpu_watts" json:"gpu_watts,omitempty"`           // at the wall, under load
	KWhUSD       float64 `toml:"kwh_usd" json:"kwh_usd,omitempty"`               // of electricity, cooling included
	Utilisation  float64 `toml:"utilisation" json:"utilisation,omitempty"`       // share of its hours in which it carries such a load, 0 to 1
}

// Check reports what is wrong in the keys.
func (o Owned) Check(bad func(key, problem, hint string)) {
	for _, x := range []struct {
		key   string
		value float64
		hint  string
	}{
		{"gpu_price_usd", o.GPUPriceUSD, "write gpu_price_usd = 30000"}, {"gpu_life_years", o.GPULifeYears, "write gpu_life_years = 4"},
		{"gpu_watts", o.GPUWatts, "write gpu_watts = 1000"}, {"kwh_usd", o.KWhUSD, "write kwh_usd = 0.15"},
	} {
		if !(x.value >= 0 && x.value <= math.MaxFloat64) { // nan, too
			bad(x.key, fmt.Sprintf("%s is %v", x.key, x.value), x.hint)
		}
	}
	if !(o.Utilisation >= 0 && o.Utilisation <= 1) {
		bad("utilisation", fmt.Sprintf("utilisation is %v, not within 0 to 1", o.Utilisation), "write utilisation = 0.6")
	}
	if (o.GPUPriceUSD > 0) != (o.GPULifeYears > 0) {
		bad("gpu_price_usd", "gpu_price_usd and gpu_life_years need each other", "write gpu_price_usd = 30000 and gpu_life_years = 4")
	}
	if o.KWhUSD > 0 && o.GPUWatts == 0 {
		bad("kwh_usd", "kwh_usd without gpu_watts says nothing", "write gpu_watts = 1000")
	}
}

const hoursPerYear = 8766 // 365.25 days

// gpuHourUSD is the price of one GPU for an hour: the stated one, or of an owned
// one what it loses in an hour and the electricity that it takes.
func (t Target) HourlyPrice() (usd float64, ok bool) {
	if t.GPUHourUSD != nil {
		return *t.GPUHourUSD, true
	}
	if t.GPUPriceUSD == 0 || t.GPULifeYears == 0 {
		return 0, false
	}
	return t.GPUPriceUSD/t.GPULifeYears/hoursPerYear + t.GPUWatts/1000*t.KWhUSD, true
}

// priced says that the price of an hour is known.
func (t Target) Priced() bool {
	_, ok := t.HourlyPrice()
	return ok && t.GPUs > 0
}
