// Predictions compares what roofline expects with published figures, and fits its constants to them.
//
//	go -C benchmarks run ./predictions              the tables of README.md
//	go -C benchmarks run ./predictions -fit         the constants of gpus.json, fitted to all figures that may be
//
// Cross-validation leaves all figures of one model out, fits the constants to the rest, and predicts what was left
// out. The figures and their sources are in experiment/published: figures.csv, which constants are fitted to, and
// held_back.csv, which checks them.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	root "bench"
	"bench/experiment/roofline"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "predictions:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("predictions", flag.ContinueOnError)
	fit := flags.Bool("fit", false, "print the fitted constants as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	models, err := roofline.ParseModels(root.ModelConfigs)
	if err != nil {
		return err
	}
	hardware := roofline.BuiltinHardware()
	points, heldBack, err := publishedPoints(models, hardware)
	if err != nil {
		return err
	}
	if *fit {
		to := json.NewEncoder(out)
		to.SetIndent("", "  ")
		return to.Encode(fitted(points, start()))
	}
	builtin := hardware.Efficiency
	_, err = fmt.Fprint(out,
		"Each model predicted with constants fitted to the other models:\n\n", table(crossValidated(points, builtin)),
		"\nWith the built-in constants, which were fitted to these figures:\n\n", table(predictedBy(points, builtin)),
		"\nFigures of models that no constant was fitted to, with the built-in constants:\n\n",
		table(predictedBy(heldBack, builtin)), "\n", peaks(models, hardware))
	return err
}
