package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is requests per second; +Inf ("inf" in the file) sends all requests at once.
type Rate float64

func (r Rate) IsInf() bool { return math.IsInf(float64(r), 1) }

// MarshalJSON writes "inf" for +Inf, for which JSON has no number.
func (r Rate) MarshalJSON() ([]byte, error) {
	if r.IsInf() {
		return []byte(`"inf"`), nil
	}
	return strconv.AppendFloat(nil, float64(r), 'g', -1, 64), nil
}

func (r *Rate) UnmarshalJSON(b []byte) error {
	x, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil {
		return fmt.Errorf("reading a rate: %w", err)
	}
	*r = Rate(x)
	return nil
}

func (r *Rate) DecodeTOML(v any, bad func(key, problem, hint string)) {
	const hint = `write rate = 4 (requests per second) or rate = "inf"`
	switch x := v.(type) {
	case int64:
		*r = Rate(x)
	case float64:
		*r = Rate(x)
	case string:
		if x != "inf" {
			bad("", fmt.Sprintf("rate %q is not a number", x), hint)
			return
		}
		*r = Rate(math.Inf(1))
	default:
		bad("", "rate is a number", hint)
		return
	}
	if v != "inf" && !(*r >= minRate && *r <= maxRate) {
		bad("", fmt.Sprintf("rate %v is not between %v and %.0f requests per second", v, minRate, maxRate), hint)
	}
}

// Bounds of a finite rate: far beyond every use, and safe from overflow of arrival times.
const minRate, maxRate = 1e-4, 1e6
