package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/safetext"
)

// setFlag registers --set of a command that takes a matrix.
func setFlag(fl *pflag.FlagSet, into *[]string) {
	fl.StringArrayVar(into, "set", nil, "`PATH=VALUE` to change in the matrix, e.g. row.chat.rate=10, target.hardware=h200-sxm (repeatable)")
}

// keysOf are keys of a matrix by the flags of a command that have their names.
var keysOf = map[string]map[string]string{
	"sweep": {"hardware": "target.hardware", "gpus": "target.gpus", "precision": "target.precision", "budget": "budget"},
}

// tablesHint is what to do in place of the flags that named tables of models and devices.
const tablesHint = "write model_configs.json or gpus.json in the working directory: they precede the built-in tables"

// movedFlag is what to type in place of a flag that a command does not have, with its value in args.
func movedFlag(cmd *cobra.Command, flag string, args []string) (hint string, ok bool) {
	if flag == "model-configs" || flag == "hardware-configs" {
		return tablesHint, true
	}
	key, ok := keysOf[strings.TrimPrefix(cmd.CommandPath(), "bench ")][flag]
	if !ok {
		return "", false
	}
	value := "VALUE"
	for i, a := range args {
		if a == "--"+flag && i+1 < len(args) {
			value = args[i+1]
		}
		if joined, ok := strings.CutPrefix(a, "--"+flag+"="); ok {
			value = joined
		}
	}
	return safetext.ShellWords([]string{"--set", key + "=" + value}), true
}
