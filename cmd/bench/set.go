package main

import "github.com/spf13/pflag"

func setFlag(fl *pflag.FlagSet, into *[]string) {
	fl.StringArrayVar(into, "set", nil,
		"change a key of the matrix, e.g. row.chat.rate=10, target.hardware=h200-sxm: `PATH=VALUE` (repeatable)")
}
