package main

import (
	"math"
	"slices"
	"strconv"
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
		x := 1.0
		switch f.Value.Type() {
		case "int", "float64":
			x, _ = strconv.ParseFloat(f.Value.String(), 64)
		case "duration":
			d, _ := time.ParseDuration(f.Value.String())
			x = d.Seconds()
		}
		if err == nil && !(x > 0 && x <= math.MaxFloat64) {
			err = usage("--%s %s: expected a number above 0\nhint: leave it out for the default", f.Name, f.Value)
		}
	})
	return err
}
