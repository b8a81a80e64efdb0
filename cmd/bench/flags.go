package main

import (
	"strings"

	"github.com/spf13/pflag"
)

// Flags of several commands, each declared once.

func setFlag(fl *pflag.FlagSet, into *[]string) {
	fl.StringArrayVar(into, "set", nil,
		"change a key of the matrix, e.g. row.chat.rate=10, target.hardware=h200-sxm: `PATH=VALUE` (repeatable)")
}

func onlyFlag(fl *pflag.FlagSet, into *[]string) {
	fl.StringArrayVar(into, "only", nil, "run only rows that match this name or `GLOB` (repeatable)")
}

func outFlag(fl *pflag.FlagSet, into *string, otherwise string) {
	fl.StringVar(into, "out", otherwise, "`DIR` for results")
}

func resumeFlag(fl *pflag.FlagSet, into *string) {
	fl.StringVar(into, "resume", "", "`DIR` of the run to continue")
}

func enforceFlag(fl *pflag.FlagSet, into *bool) {
	fl.BoolVar(into, "enforce", false, "exit 3 unless every SLO is met by valid rows")
}

func rowFlag(fl *pflag.FlagSet, into *string) {
	fl.StringVar(into, "row", "", "`NAME` of the row, with its axes if it has some: 'chat max_num_seqs=64' "+
		"(default: the first that can answer)")
}

func listenFlag(fl *pflag.FlagSet, into *string, otherwise string) {
	fl.StringVar(into, "listen", otherwise,
		"`ADDRESS` to listen on; a host other than 127.0.0.1 opens it to the network")
}

func modelFlag(fl *pflag.FlagSet, into *string, what string) { fl.StringVar(into, "model", "", what) }

// requestedModel is what --model is of a command with a server.
const requestedModel = "model to request (default: [target] model, else the one that the server lists)"

func formatFlag(fl *pflag.FlagSet, into *string, formats []string) {
	fl.StringVar(into, "format", formats[0], strings.Join(formats, ", "))
}

func outputFlag(fl *pflag.FlagSet, into *string, otherwise string) {
	fl.StringVarP(into, "output", "o", "", strings.TrimSpace("`FILE` to write; - for stdout "+otherwise))
}
