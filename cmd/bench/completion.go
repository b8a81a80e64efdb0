package main

import "github.com/spf13/cobra"

// shells are the shells with a completion script: what they need, and how to load it.
var shells = map[string]struct{ needs, example string }{
	"bash": {"It needs the package bash-completion.", `  bench completion bash > ~/.local/share/bash-completion/completions/bench
  source <(bench completion bash)                                            only this shell`},
	"zsh": {"It needs compinit in ~/.zshrc.", `  bench completion zsh > "${fpath[1]}/_bench"
  source <(bench completion zsh)              only this shell`},
	"fish": {"", `  bench completion fish > ~/.config/fish/completions/bench.fish
  bench completion fish | source                                 only this shell`},
	"powershell": {"Put the line into your profile to load it in each shell.",
		`  bench completion powershell | Out-String | Invoke-Expression`},
}

func nameCompletion(completion *cobra.Command) {
	completion.Short = "write the completion script for a shell"
	completion.Long = "completion writes a script that completes the commands, flags and file names of bench in a shell."
	completion.Example = "  bench completion bash > ~/.local/share/bash-completion/completions/bench"
	for _, cmd := range completion.Commands() {
		shell := shells[cmd.Name()]
		cmd.Args, cmd.Short = cobra.NoArgs, "write the completion script for "+cmd.Name()
		cmd.Long = "completion " + cmd.Name() + " writes the script that completes bench in " + cmd.Name() + ". " +
			shell.needs
		cmd.Example = shell.example
		if f := cmd.Flags().Lookup("no-descriptions"); f != nil {
			f.Usage = "complete names alone, without their descriptions"
		}
	}
}
