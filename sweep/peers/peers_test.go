package peers_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"bench/experiment"
	"bench/sweep"
	"bench/sweep/forecast"
	"bench/sweep/matrix"
	"bench/sweep/peers"
	"bench/sweep/strict"
)

const trace = `{"timestamp":0,"input_length":600,"output_length":20,"hash_ids":[0,1]}
{"timestamp":90000,"input_length":700,"output_length":30,"hash_ids":[0,2]}
`

var fileKey = regexp.MustCompile(`file = "([^"]+)"`)

// plan imports a command, and returns the specs of its points. The files that it names are made.
func plan(t *testing.T, m *peers.Matrix) []experiment.Spec {
	t.Helper()
	for _, name := range fileKey.FindAllStringSubmatch(m.Text, -1) {
		content := `{"prompt": "Hello", "category": "rag"}` + "\n"
		if strings.Contains(strings.ToLower(name[1]), "sharegpt") {
			content = `[{"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yes"}, {"from": "human", "value": "So"}]}]`
		}
		if strings.Contains(m.Text, "trace ") || strings.Contains(m.Text, "trace=") {
			content = trace
		}
		if strings.HasSuffix(name[1], ".csv") {
			content = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,600,20\n2023-11-16 18:17:46,700,20\n"
		}
		name := strings.TrimPrefix(name[1], "/")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.ReplaceAll(m.Text, `file = "/`, `file = "`)
	matrix, err := matrix.ParseSet("m.toml", []byte(text), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, m.Text)
	}
	if _, err := forecast.NewPlan(matrix, nil, sweep.Kept{}); err != nil {
		t.Fatal(err)
	}
	return matrix.Points
}

// means is a point in the words of testdata/documented.txt.
func means(s experiment.Spec) string {
	var in, out []string
	for _, c := range s.Classes() {
		input, output := c.Input.String(), c.Output.String()
		switch {
		case s.Prompts != nil:
			input = "file"
		case s.Trace != nil:
			input, output = "trace", "trace"
		}
		in, out = append(in, input), append(out, output)
	}
	load := ""
	switch {
	case s.Search != nil:
		load = "search"
	case s.Tile != nil:
		load = fmt.Sprintf("%d contexts", s.Tile.Contexts)
	case s.Arrival.Process == "trace":
		load = "trace"
	case s.Rate.IsInf():
		load = "all at once"
	case s.Rate > 0:
		load = fmt.Sprintf("%g/s", float64(s.Rate))
		if s.Arrival.Process != "" && s.Arrival.Process != "poisson" {
			load += " " + s.Arrival.String()
		}
		if s.Burstiness != 0 {
			load += fmt.Sprintf(" %g", s.Burstiness)
		}
		if s.Concurrency > 0 {
			load += fmt.Sprintf(" up to %d", s.Concurrency)
		}
	default:
		load = fmt.Sprintf("%d at once", s.Concurrency)
	}
	requests, seconds := "", ""
	if s.Requests > 0 {
		requests = fmt.Sprint(s.Requests)
	}
	if s.Duration > 0 && s.Search == nil {
		text, _ := s.Duration.MarshalJSON()
		seconds = string(text)
	}
	cells := []string{strings.Join(in, ", "), strings.Join(out, ", "), load, requests, seconds}
	return strings.TrimRight(strings.ReplaceAll(strings.Join(cells, " | "), "|  |", "| |"), " ")
}

func noFile(string) ([]byte, error) { return nil, errors.New("no file") }

// TestDocumented: command lines of the tools' documentation mean the same as a matrix: lengths, load, number, time.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("testdata/documented.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	seen := map[string]int{}
	tool := ""
	var command, want []string
	check := func() {
		if len(want) == 0 {
			return
		}
		m, err := peers.Text(strings.Join(command, "\n"), noFile)
		if err != nil {
			t.Errorf("%s: %v\n%s", tool, err, strings.Join(command, "\n"))
		} else {
			var got []string
			for _, s := range plan(t, m) {
				got = append(got, means(s))
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%s\ngot:\n%s\nwant:\n%s\n%s", strings.Join(command, "\n"), strings.Join(got, "\n"), strings.Join(want, "\n"), m.Text)
			}
			for _, secret := range []string{"sk-123", "vllm_sk", "your-api-key", "NOT USED", "not-needed"} {
				if strings.Contains(m.Text+strings.Join(m.Notes, ""), secret) {
					t.Errorf("%s: %s is in the matrix:\n%s", tool, secret, m.Text)
				}
			}
			seen[tool]++
		}
		command, want = nil, nil
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		row, isRow := strings.CutPrefix(line, "=> ")
		switch {
		case strings.HasPrefix(line, "#"):
			check()
			tool, _, _ = strings.Cut(strings.TrimPrefix(line, "## "), ":")
			command = nil
		case isRow:
			want = append(want, strings.TrimRight(row, " "))
		case len(want) > 0:
			check()
		default:
			command = append(command, line)
		}
	}
	check()
	for name, least := range map[string]int{"vLLM": 10, "SGLang": 10, "guidellm": 10, "aiperf": 10, "genai-perf": 10, "llmperf": 10, "tmesh-cli": 5} {
		if seen[name] < least {
			t.Errorf("%d commands of %s, want %d", seen[name], name, least)
		}
	}
}

func TestConfig(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/inference-perf.txtar")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	seen := 0
	for i := 0; i < len(archive.Files); i += 2 {
		file, want := archive.Files[i], archive.Files[i+1]
		m, err := peers.Config(file.Data)
		if err != nil {
			t.Errorf("%s: %v", file.Name, err)
			continue
		}
		var got []string
		for _, s := range plan(t, m) {
			got = append(got, means(s))
		}
		if strings.Join(got, "\n") != strings.TrimSpace(string(want.Data)) {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s\n%s", file.Name, strings.Join(got, "\n"), want.Data, m.Text)
		}
		if strings.Contains(m.Text, "sk-123") {
			t.Errorf("%s: the key is in the matrix:\n%s", file.Name, m.Text)
		}
		seen++
	}
	if seen < 10 {
		t.Errorf("%d configurations, want 10", seen)
	}
}

// Keys and notes that the table of TestDocumented does not show.
func TestKeys(t *testing.T) {
	const vllm, data = "vllm bench serve --model m ", "guidellm benchmark --target localhost:1 --max-requests 9 --profile synchronous --data "
	for _, c := range []struct{ command, want string }{
		{vllm + "--backend openai-chat", `api      = "chat"`},
		{vllm + "--base-url https://u:pw@host:1/v1/chat/completions?key=x", `endpoint = "https://host:1"`},
		{vllm + "--base-url http://h/prefix", `endpoint = "http://h/prefix/v1"`},
		{vllm + "--base-url http://h/prefix/v1/", `endpoint = "http://h/prefix/v1"`},
		{vllm + "--endpoint /v1/own/completions", "# - bench calls the API's own path in place of /v1/own/completions"},
		{vllm + "--num-prompts 7 >out.txt", "requests = 7"},
		{"for c in 1 8 64; do\n" + vllm + "--max-concurrency $c --num-prompts 9\ndone", "concurrency = [1, 8, 64]"},
		{"vllm bench sweep serve --serve-cmd 'vllm serve m --port 8000' --bench-cmd 'vllm bench serve --model m --num-prompts 5' --serve-params s.json --num-runs 2",
			"[server]\ncommand = [\"vllm\", \"serve\", \"m\", \"--port\", \"8000\"]"},
		{"vllm bench sweep serve --serve-cmd 'vllm serve m --api-key sk-abcdef' --bench-cmd 'vllm bench serve --model m'", "repeats  = 3"},
		{vllm + "--host 10.0.0.1 --port 9", `endpoint = "http://10.0.0.1:9"`},
		{vllm + "--goodput ttft:100 e2el:1500.5", "[slo.each]\nttft = \"100ms\"\ne2e  = \"1.5005s\""},
		{vllm + `--extra-body '{"top_p": 0.9, "stop": ["a"], "x": {"y": null, "z": 1.0}, "ignore_eos": true}'`,
			"[target.extra_body]\nstop  = [\"a\"]\ntop_p = 0.9\nx     = { z = 1.0 }"},
		{vllm + "--ignore-eos", `stop     = "forced"`},
		{vllm + "--temperature=0.5", "temperature = 0.5"},
		{vllm + "--header X-Route=a --header Authorization='Bearer sk-abcdef'", `# - the header X-Route may be secret: it is not in the matrix; give it by --set 'target.headers.X-Route="…"'`},
		{vllm + "--header 'X-Request-Class=a b, c'", "[target.headers]\nX-Request-Class = \"a b, c\""},
		{`aiperf profile -m a --osl 5 --extra-inputs '{"top_p": 0.5, "stop": ["a b", "c"]}'`, `stop  = ["a b", "c"]`},
		{vllm + "--num-warmups 5 --max-concurrency 2", "warmup      = 5"},
		{vllm + "--num-warmups 5", "# - no warm-up: all requests of the row arrive at its start"},
		{vllm + "--ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 10 --num-prompts 900",
			`arrival  = { process = "ramp", from = 1, to = 10, over = "3m50.258509s", shape = "exponential" }`},
		{vllm + "--burstiness inf --request-rate 3", `arrival  = "constant"`},
		{vllm + "--request-rate 1,inf --sweep-max-concurrency 4", "name        = \"random-inf\"\nconcurrency = 4"},
		{vllm + "--random-prefix-len 64", "prefix   = { tokens = 64, groups = 1 }"},
		{vllm + "--lora-modules a b --lora-assignment round-robin", `adapters = { names = ["a", "b"], order = "round_robin" }`},
		{vllm + "--metric-percentiles 25,99", "# - percentile 25: bench reports p50, p90, p95, p99 and p99.9"},
		{vllm + "--use-beam-search", "# - not imported: --use-beam-search"},
		{vllm + "--seed 7", "seed = 7"},
		{"OPENAI_API_KEY=sk-abcdef VLLM_X=1 " + vllm, "# - the variable OPENAI_API_KEY is not in the matrix: export it, and bench sweep takes it by --api-key-env OPENAI_API_KEY"},
		{"RATE=7\n" + vllm + "--request-rate $RATE --port ${PORT:-8001}", `rate     = 7`},
		{"$ vllm bench serve \\\n> --model a \\\n> --num-prompts 3 | tee log", "requests = 3"},
		{"vllm bench serve\n  --model a   # why\n  --num-prompts 3\nvllm bench serve --num-prompts 4", "requests = 3"},
		{vllm + `--dataset-name sharegpt`, "# - prompts come from the file ShareGPT_V3_unfiltered_cleaned_split.json: get it by wget https://huggingface.co/"},
		{vllm + `--dataset-name spec_bench --dataset-path q.jsonl --spec-bench-category rag`, `prompts     = { file = "q.jsonl", limit = 1000, category = ["rag"] }`},
		{data + `'{"prompt_tokens": 100, "prompt_tokens_stdev": 10, "output_tokens": 50, "turns": 3, "delay": 2}'`,
			`session     = { turns = 3, user = { dist = "normal", mean = 100, std = 10, min = 50, max = 150 }, think = "2s" }`},
		{data + "prompt_tokens=100,output_tokens=50,prefix_tokens=20,prefix_count=4", "prefix      = { tokens = 20, groups = 4 }"},
		{data + "prompt_tokens=100,output_tokens=50 --backend-args '{\"api_key\": \"sk-abcdef\", \"headers\": {\"Accept\": \"b\"}}'", "Accept = \"b\""},
		{data + "prompt_tokens=100,output_tokens=50 --backend kind=openai_http,extras.body.ignore_eos=false", `stop        = "natural"`},
		{"aiperf profile -m a --concurrency 1,8,64 --osl 9", "concurrency = [1, 8, 64]"},
		{"aiperf profile -m a --request-cancellation-rate 10 --request-cancellation-delay 0.5", `leave       = { share = 0.1, after = "500ms" }`},
		{"aiperf profile -m a --num-prefix-prompts 3 --prefix-prompt-length 15 --isl 50", "input       = 65"},
		{"aiperf profile -m a --user-centric-rate 1.0 --num-users 15 --session-turns-mean 20", `think = "15s"`},
		{"aiperf profile -m a", "stream      = false"},
		{`aiperf profile -m a --sequence-distribution '{"pairs": [{"isl": 256, "osl": 128, "prob": 60}, {"isl": 512, "osl": 256, "prob": 40}]}'`,
			"[[row.mix]]\nname   = \"512-256\"\nweight = 40\ninput  = 512\noutput = 256"},
		{"python -m sglang.bench_serving --disable-stream --disable-ignore-eos --max-concurrency 3", "stream      = false"},
		{"export OPENAI_API_BASE=http://h:1/v1\npython token_benchmark_ray.py --model a", `endpoint = "http://h:1"`},
	} {
		m, err := peers.Text(c.command, noFile)
		if err != nil {
			t.Errorf("%s: %v", c.command, err)
			continue
		}
		if !strings.Contains(m.Text, c.want) {
			t.Errorf("%s\nlacks %s:\n%s", c.command, c.want, m.Text)
		}
		if all := m.Text + strings.Join(m.Notes, "\n"); strings.Contains(all, "sk-abcdef") || strings.Contains(all, "pw@") {
			t.Errorf("%s: a secret is in the matrix:\n%s", c.command, all)
		}
		t.Chdir(t.TempDir())
		plan(t, m)
	}
}

// TestSecrets: whatever may be a secret is in neither the matrix nor a note, and something says that it was there.
func TestSecrets(t *testing.T) {
	const vllm, guide = "vllm bench serve --model m ", "guidellm benchmark --target localhost:1 --data prompt_tokens=9,output_tokens=9 "
	for _, c := range []struct{ command, want string }{
		{vllm + "--endpoint '/v1/completions?api_key=hunter2'", ""},
		{vllm + "--endpoint 'v1/own?token=hunter2'", "in place of v1/own"},
		{"aiperf profile -m a --osl 5 --endpoint '/v1/own?token=hunter2'", "in place of /v1/own"},
		{vllm + `--extra-body '{"nested": {"api_key": "hunter2"}}'`, "the field nested of the body may be secret"},
		{vllm + `--extra-body '{"list": [{"passphrase": "hunter2"}]}'`, "the field list of the body may be secret"},
		{vllm + `--extra-body '{"x": "Bearer hunter2"}'`, "the field x of the body may be secret"},
		{vllm + `--chat-template-kwargs '{"pwd": "hunter2"}'`, "the field chat_template_kwargs of the body may be secret"},
		{vllm + "--dataset-name custom --dataset-path https://u:hunter2@h/x.jsonl?sig=hunter2", `file = "https://h/x.jsonl"`},
		{vllm + "--dataset-name hf --dataset-path s3://u:hunter2@h/x", "user, password and query of an address"},
		{guide + "--rate-type synchronous --data s3://u:hunter2@h/x.jsonl", "user, password and query of an address"},
		{"aiperf profile -m a --osl 5 --input-file s3://u:hunter2@h/x.jsonl", `file = "s3://h/x.jsonl"`},
		{vllm + "--user bob:hunter2", "not imported: --user …"},
		{vllm + "--pw hunter2", "not imported: --pw …"},
		{vllm + "-phunter2", "not imported: --p …"},
		{guide + "--override backend.x hunter2", "not imported: --override …"},
		{vllm + "--header X-Api:hunter2", "the header X-Api may be secret"},
		{vllm + "--header 'Bearer hunter2'", "a header that is not Name: value"},
		{"aiperf profile -m a --osl 5 -H X:hunter2", "the header X may be secret"},
		{guide + `--backend-kwargs '{"headers": {"Foo": "hunter2"}}'`, "the header Foo may be secret"},
	} {
		m, err := peers.Text(c.command, noFile)
		if err != nil {
			t.Errorf("%s: %v", c.command, err)
			continue
		}
		all := m.Text + strings.Join(m.Notes, "\n")
		if strings.Contains(all, "hunter2") || !strings.Contains(all, c.want) {
			t.Errorf("%s: a secret, or not %s:\n%s", c.command, c.want, all)
		}
	}
	_, err := peers.Text(guide+`--backend-kwargs {"api_key":"hunter2"}`, noFile)
	if err == nil || !strings.Contains(err.Error(), "--backend-kwargs: the value is not JSON") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("JSON without quotes: %v", err)
	}
	m, err := peers.Text(vllm+`--extra-body '{"chat_template_kwargs": {"enable_thinking": false}}'`, noFile)
	if err != nil || !strings.Contains(m.Text, "chat_template_kwargs = { enable_thinking = false }") {
		t.Errorf("a field that is no secret: %v", err)
	}
}

// Each line doubles the one before: forty of them would be a terabyte.
func TestVariablesAreBounded(t *testing.T) {
	text := "A0=xxxxxxxxxxxxxxxx\n"
	for i := range 40 {
		text += fmt.Sprintf("A%d=$A%d\"$A%[2]d\"\n", i+1, i)
	}
	if _, err := peers.Text(text+"vllm bench serve --model $A40", noFile); err == nil || !strings.Contains(err.Error(), "64 KiB") {
		t.Errorf("%v", err)
	}
}

func TestErrors(t *testing.T) {
	for command, want := range map[string]string{
		"ls -l":                                        "the command names no tool that bench import reads",
		"vllm bench throughput --model m":              "vllm bench throughput has no counterpart",
		"vllm bench serve --num-prompts x":             `--num-prompts: "x" is not a valid number`,
		"vllm bench serve --request-rate $R":           "--request-rate: $R stands for a number\nhint: replace it by its value",
		"vllm bench serve --backend openai-embeddings": "openai-embeddings writes no tokens",
		"vllm bench serve 'a":                          "a quote in the command is not closed",
		"guidellm benchmark --target http://a":         "the command has no --data",
		"vllm bench serve --extra-body {":              "--extra-body: the value is not JSON",
		"inference-perf --config_file x.yml":           "no file",
		strings.Repeat("a", 70_000):                    "the text has more than 64 KiB",
	} {
		if _, err := peers.Text(command, noFile); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", command, err, want)
		}
	}
	for config, want := range map[string]string{
		"a: 1":                  "the file has no load",
		"load:\n\ttype: x":      "line 2: found character that cannot start any token",
		"load: &x\n  a: *x":     "line 2: aliases are not read",
		"load: [1, {a: 2}":      "line 1: did not find expected ',' or ']'",
		"- a\n- b":              "the file is no mapping of YAML",
		"load: {type: poisson}": "the load has 0 stages",
	} {
		if _, err := peers.Config([]byte(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", config, err, want)
		}
	}
}

// FuzzText: whatever is pasted, there is no panic, and what is printed is TOML that the strict decoder can read.
func FuzzText(f *testing.F) {
	for _, seed := range []string{
		"vllm bench serve --model a --request-rate 1,inf --extra-body '{\"a\": [1, {\"b\": null}]}' --header A=b",
		"guidellm run --data kind=synthetic_text,prompt_tokens=1,turns=2 --profile kind=constant,rate=1 --constraint kind=max_requests,count=3",
		"aiperf profile -m \"\x7f\" --sequence-distribution 1,2:3 --extra-inputs a:1e999 --goodput time_to_first_token:1e9",
		"python -m sglang.bench_serving --dataset-name image --image-resolution 1x2 --max-concurrency 1e9",
		"X=1 tmesh-cli benchmark --endpoint $X", "token_benchmark_ray.py --timeout -1 --mean-input-tokens inf",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := peers.Text(text, noFile)
		if err != nil {
			return
		}
		if _, err := strict.Parse("m.toml", []byte(m.Text)); err != nil {
			t.Errorf("%q: %v\n%s", text, err, m.Text)
		}
	})
}

func FuzzConfig(f *testing.F) {
	f.Add("load:\n- a: [1, {b: \"c\"}]\n  d: 'e' # f\nserver:\n  base_url: x")
	f.Add("load: [}]")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := peers.Config([]byte(text))
		if err != nil {
			return
		}
		if _, err := strict.Parse("m.toml", []byte(m.Text)); err != nil {
			t.Errorf("%q: %v\n%s", text, err, m.Text)
		}
	})
}
