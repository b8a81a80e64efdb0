package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"bench/sweep/peers"
)

func newImport(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import 'COMMAND' | FILE | -",
		Short: "print the matrix of another tool's command line",
		Long: `import prints a matrix that means what a command line of another load generator means: lengths, rate, number of requests,
concurrency, warm-up, API, limits. It knows ` + peers.Names() + `, and the YAML file of
inference-perf. What has no counterpart, and what is an approximation, is in comments of the matrix and on stderr. API
keys and secret headers are left out.

The command is one text in quotes, words, or standard input (-): with line continuations, variables and comments, as in a
script. docs/coming-from.md has a table for each tool.`,
		Example: `  bench import 'vllm bench serve --model m --request-rate 10 --num-prompts 500' > m.toml
  bench import guidellm benchmark --target http://localhost:8000 --data prompt_tokens=256,output_tokens=128
  bench import - < benchmark.sh
  bench import config.yml   # inference-perf`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := imported(args, c.stdin)
			if err != nil {
				return usage("%w", err)
			}
			for _, note := range m.Notes {
				fmt.Fprintln(c.stderr, safe("note: "+note))
			}
			_, err = io.WriteString(c.stdout, m.Text)
			return err
		},
	}
	cmd.Flags().SetInterspersed(false) // the flags behind the first word are the other tool's
	return cmd
}

// imported makes a matrix of the words of a command, of a text, or of a file.
func imported(args []string, stdin io.Reader) (*peers.Matrix, error) {
	if len(args) > 1 {
		return peers.Words(args, readShort)
	}
	text := args[0]
	switch {
	case text == "-":
		all, err := io.ReadAll(io.LimitReader(stdin, mostImported))
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		text = string(all)
	case !strings.ContainsAny(text, " \n"):
		all, err := readShort(text)
		if err != nil {
			return nil, fmt.Errorf("reading the file to import: %w\nhint: quote a command: bench import 'vllm "+
				"bench serve …'", err)
		}
		text = string(all)
	}
	if strings.HasPrefix(text, "load:") || strings.Contains(text, "\nload:") { // the YAML of inference-perf
		return peers.Config([]byte(text))
	}
	return peers.Text(text, readShort)
}

const mostImported = 1 << 20 // bytes, above what package peers takes, which has the error

func readShort(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostImported))
}
