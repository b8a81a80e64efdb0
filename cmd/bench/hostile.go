package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"bench/experiment/hostile"
	"bench/experiment/text"
)

// hostile plays a case of the hostile corpus, or lists them.
func (c *cli) hostile(cmd *cobra.Command, f *mockFlags) error {
	if f.hostile == "list" {
		w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
		for _, x := range hostile.Cases() {
			fmt.Fprintf(w, "%s\t%s\t%s\n", x.Name, x.Kind, x.Text)
		}
		return w.Flush()
	}
	x, ok := hostile.Find(f.hostile)
	switch {
	case !ok:
		return unknownHostile(f.hostile)
	case x.Kind != hostile.Server:
		return x.Write(c.stdout)
	}
	l, err := listenOn(cmd.Context(), f.listen, "--listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "hostile server %s: %s\nlistening on http://%s\n", x.Name, x.Text, l.Addr())
	if err := x.Serve(cmd.Context(), l); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return &exitError{codeInterrupted, errors.New("")}
}

func unknownHostile(name string) error {
	var names []string
	for _, x := range hostile.Cases() {
		names = append(names, x.Name)
	}
	if near, ok := text.Nearest(name, names); ok {
		return usage("--hostile %s: there is no such case\nhint: --hostile %s", name, near)
	}
	return usage("--hostile %s: there is no such case\nhint: --hostile list prints all", name)
}
