package main

var daily = []helpGroup{{"Commands", []string{"URL", "demo", "init", "sweep", "report", "compare", "serve"}}}

// commandsByUse are all commands, in the order of bench help all.
var commandsByUse = []helpGroup{
	{"Measure", []string{"URL", "demo", "init", "import", "sweep", "work", "tile"}},
	{"Read results", []string{"report", "compare", "why", "bisect", "history", "ask", "verify", "serve"}},
	{"Plan", []string{"size", "predict", "rehearse", "trace"}},
	{"Check the client", []string{"selftest", "referee", "mock"}},
	{"Other", []string{"version", "help", "completion"}},
}

// flagUses are the flags of each command by use, in the order of its help.
var flagUses = map[string][]helpGroup{
	"URL": {
		{"What to measure", []string{"workload", "slo", "input", "output", "set"}},
		{"Load", quickLoad},
		{"Server", []string{"api", "model", "hardware", "gpus", "gpu-hour-usd"}},
		{"API key", keyUses},
		{"Output", quickOutput},
		{"Verdict", []string{"enforce"}},
	},
	"demo": {
		{"What to measure", []string{"workload", "slo", "input", "output", "set"}},
		{"Load", quickLoad},
		{"What to simulate", []string{"hardware", "gpus", "gpu-hour-usd"}},
		{"Output", quickOutput},
		{"Verdict", []string{"enforce"}},
	},
	"sweep": {
		{"What to run", []string{"only", "set", "dry-run", "resume", "accept-server-change"}},
		{"Where to send it", []string{"endpoint", "api", "model"}},
		{"API key", keyUses},
		{"Load from many machines", []string{"workers", "listen", "token-file", "tls-cert", "tls-key"}},
		{"Output", []string{"out", "sign", "plain", "json", "metrics-listen"}},
		{"Verdict", []string{"enforce"}},
	},
	"work": {
		{"Leader", []string{"join", "token-file", "tls-ca", "index", "wait"}},
		{"Where to send the load", []string{"endpoint"}},
		{"API key", keyUses},
	},
	"report": {
		{"Output", []string{"format", "output", "findings"}},
		{"Verdict", []string{"slo", "recompute", "enforce"}},
		{"For the roofline", []string{"hardware", "gpus", "precision"}},
	},
	"compare": {
		{"What to compare", []string{"base", "accept", "between", "allow", "same"}},
		{"Gate", []string{"gate", "threshold", "on-undecided", "junit"}},
		{"Output", []string{"format", "output"}},
	},
	"verify": {{"Who signed", []string{"key"}}, {"Verdict", []string{"slo"}}},
	"ask":    {{"Question", []string{"row", "router"}}, {"Output", []string{"format", "output"}}},
	"size": {
		{"Traffic", []string{"rate", "hours", "row", "slo"}},
		{"Server", []string{"from", "model", "hardware", "gpus", "precision", "gpu-hour-usd"}},
		{"Fleet", []string{"router", "start-up"}},
		{"Output", []string{"format", "output"}},
	},
	"why": {{"Output", []string{"format", "output"}}},
	"bisect": {
		{"Revisions", []string{"good", "bad", "repo", "revs", "rev", "build-timeout"}},
		{"What to run", []string{"only", "set", "metric", "confidence", "budget", "resume"}},
		{"API key", keyUses},
		{"Output", []string{"out", "format", "output"}},
	},
	"history": {{"Output", []string{"decisions", "format", "output"}}},
	"serve":   {{"Where to listen", []string{"listen"}}},
	"tile": {
		{"Where to send it", []string{"model"}},
		{"API key", keyUses},
		{"What to send", []string{"contexts", "offload-size", "input", "set"}},
		{"How long", []string{"duration"}},
		{"Output", []string{"out", "interval"}},
	},
	"predict": {
		{"Model and hardware", []string{"model", "hardware", "gpus", "set"}},
		{"Workload", []string{"input", "output", "batch"}},
		{"Matrix", []string{"only", "out"}},
		{"Output", []string{"format"}},
	},
	"rehearse": {
		{"Nights", []string{"nights", "change", "odd", "noise", "repeat-noise", "seed"}},
		{"Model and hardware", []string{"model", "hardware", "gpus", "set"}},
		{"Output", []string{"format"}},
	},
	"trace": {
		{"Which requests", []string{"from", "start", "end", "set"}},
		{"Figures", []string{"format", "cache-blocks"}},
		{"Output", []string{"output", "anonymize", "keep-models", "sessions", "requests", "seed"}},
	},
	"trace record": {
		{"Where to listen", []string{"listen", "tls-cert", "tls-key", "max-body"}},
		{"Where to send it", []string{"to", "tls-ca"}},
		{"What to record", []string{"session-header", "keep-models", "for"}},
		{"Candidate", []string{"shadow", "share", "shadow-model", "shadow-key-env", "shadow-warmup",
			"shadow-max-errors"}},
		{"Output", []string{"output", "admin"}},
	},
	"selftest": {
		{"What to run", []string{"quick", "streams", "rates", "tokens", "ttft", "itl", "window"}},
		{"Output", []string{"save", "format"}},
	},
	"referee": {
		{"Load", []string{"requests", "rate", "arrival"}},
		{"Rounds", []string{"only", "limit"}},
		{"Output", []string{"out", "format"}},
		{"Verdict", []string{"enforce"}},
	},
	"mock": {
		{"Where to listen", []string{"listen", "require-api-key"}},
		{"What to simulate", []string{"set", "model", "hardware", "ttft", "itl"}},
		{"Faults", []string{"fault", "hostile"}},
	},
}

var (
	quickLoad   = []string{"budget", "rate", "concurrency", "requests", "duration", "dry-run", "resume"}
	quickOutput = []string{"save", "out", "plain", "json", "metrics-listen"}

	keyUses = []string{"api-key-env", "api-key-file", "api-key"}
)
