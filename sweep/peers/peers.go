// Package peers makes a matrix of another load generator's command line, or of its configuration file. Its steps:
//
//   - the text is cut into commands and words (shell), and the first command of a known tool is found;
//   - its flags become names and values (args); key=value lists, JSON and YAML become the same (flatten, yaml);
//   - one function per tool reads the flags that mean something, with the tool's own defaults, into a draft (matrix);
//   - a flag that was not read, and may change the load, is named in a note: nothing is dropped in silence.
//
// It reads no environment and sends nothing. Secrets of a command never reach the matrix or a note.
package peers

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"bench/internal/yaml"
)

// A tool is another load generator.
type tool struct {
	name     string
	commands string // with commas between them; the words of one follow each other
	read     func(*args, *draft)
}

var tools = []tool{
	{"vllm bench serve", "vllm bench serve, vllm-bench, benchmark_serving.py", fromVLLM},
	{"vllm bench sweep", "vllm bench sweep serve, vllm bench sweep serve_workload", fromVLLMSweep},
	{"sglang.bench_serving", "sglang.bench_serving, sglang.benchmark.serving, bench_serving.py", fromSGLang},
	{"guidellm", "guidellm benchmark run, guidellm benchmark, guidellm run", fromGuideLLM},
	{"aiperf", "aiperf profile", func(a *args, d *draft) { nvidia(a, d, false) }},
	{"genai-perf", "genai-perf profile", func(a *args, d *draft) { nvidia(a, d, true) }},
	{"llmperf", "token_benchmark_ray.py", fromLLMPerf},
	{"tmesh-cli", "tmesh-cli benchmark", fromTmesh},
}

const inferencePerf = "inference-perf"

// Names are the tools that Command reads, in the order of the manual.
func Names() string {
	var names []string
	for _, t := range tools {
		names = append(names, t.name)
	}
	return strings.Join(names, ", ")
}

// Matrix is a matrix, and what a reader must know of it: what has no counterpart, and what is an approximation. The
// text has the notes too, as comments.
type Matrix struct {
	Text  string
	Notes []string
}

// most bounds what is read: a command line and a configuration are far shorter.
const most = 64 << 10

var errLong = errors.New("the text has more than 64 KiB: it is no command line\n" +
	"hint: bench import 'vllm bench serve …', or the YAML file of inference-perf")

// Text reads a command line in one text, as it is pasted from a page or a script. open reads a file that it names.
func Text(text string, open func(name string) ([]byte, error)) (*Matrix, error) {
	if len(text) > most {
		return nil, errLong
	}
	commands, variables, err := split(text)
	if err != nil {
		return nil, err
	}
	for _, words := range commands {
		if m, err := command(words, variables, open); err != errUnknown {
			return m, err
		}
	}
	return nil, errUnknown
}

// Words reads a command line whose words a shell has separated.
func Words(words []string, open func(name string) ([]byte, error)) (*Matrix, error) {
	if len(strings.Join(words, " ")) > most {
		return nil, errLong
	}
	return command(words, assignments(words), open)
}

var errUnknown = errors.New("the command names no tool that bench import reads\n" +
	"hint: bench import 'vllm bench serve --model … --request-rate 10'; others: sglang.bench_serving, guidellm, aiperf, " +
	"genai-perf, token_benchmark_ray.py, tmesh-cli, or the YAML file of inference-perf")

// command returns errUnknown if the words have no command of a known tool.
func command(words []string, variables map[string]string, open func(string) ([]byte, error)) (*Matrix, error) {
	for at := range words {
		if path.Base(words[at]) == inferencePerf {
			return configOf(words[at+1:], open)
		}
		inEngine := []string{"throughput", "latency", "startup"}
		if begins(words[at:], "vllm bench") > 0 && slices.Contains(inEngine, cmp.Or(words[at+2:]...)) {
			return nil, fmt.Errorf("vllm bench %s has no counterpart\nhint: bench measures servers: import a vllm bench "+
				"serve command; [server.knobs] restarts a server with other flags", words[at+2])
		}
		for _, t := range tools {
			for c := range strings.SplitSeq(t.commands, ", ") {
				if n := begins(words[at:], c); n > 0 {
					return t.matrix(parse(words[at+n:]), variables)
				}
			}
		}
	}
	return nil, errUnknown
}

// begins is the number of words of a command that the words begin with; 0: they do not.
func begins(words []string, command string) int {
	n := 1 + strings.Count(command, " ")
	if len(words) < n || strings.Join(append([]string{path.Base(words[0])}, words[1:n]...), " ") != command {
		return 0
	}
	return n
}

func (t tool) matrix(a *args, variables map[string]string) (*Matrix, error) {
	d := &draft{tool: t.name, variables: variables}
	if a.hideAddresses() {
		d.say(hiddenAddress)
	}
	t.read(a, d)
	d.key(a, "api-key")
	d.environment()
	return d.finish(a)
}

func configOf(words []string, open func(string) ([]byte, error)) (*Matrix, error) {
	file := parse(words).text("config-file", "c")
	if file == "" {
		return nil, errors.New("inference-perf without --config_file has no load to import\nhint: bench import " +
			"config.yml")
	}
	text, err := open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of inference-perf: %w", err)
	}
	return Config(text)
}

// Config reads the YAML configuration of inference-perf.
func Config(text []byte) (*Matrix, error) {
	if len(text) > most {
		return nil, errLong
	}
	tree, err := yaml.Texts(text)
	if err != nil {
		return nil, err
	}
	a := &args{}
	a.flatten("", tree)
	if !slices.ContainsFunc(a.flags, func(g *given) bool { return strings.HasPrefix(g.name, "load.") }) {
		return nil, errors.New("the file has no load: it is no configuration of inference-perf\nhint: " +
			"docs/coming-from.md")
	}
	return tool{name: inferencePerf, read: fromInferencePerf}.matrix(a, nil)
}
