package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// positive refuses a stated number that is not above 0, of the named flags or, without names, of all: most zeros
// would count as a flag that was left out.
func positive(fl *pflag.FlagSet, names ...string) (err error) {
	fl.Visit(func(f *pflag.Flag) {
		if len(names) > 0 && !slices.Contains(names, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		switch f.Value.Type() {
		case "intSlice", "float64Slice":
			values = f.Value.(pflag.SliceValue).GetSlice()
		case "int", "float64":
		case "duration":
			d, _ := time.ParseDuration(values[0])
			values[0] = strconv.FormatFloat(d.Seconds(), 'g', -1, 64)
		default:
			return
		}
		for _, text := range values {
			if x, _ := strconv.ParseFloat(text, 64); err == nil && !(x > 0 && x <= math.MaxFloat64) {
				err = usage("--%s %s: expected a number above 0\nhint: leave it out for the default", f.Name,
					strings.Trim(f.Value.String(), "[]"))
			}
		}
	})
	return err
}
