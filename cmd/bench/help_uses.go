package main

var daily = []helpGroup{{"Commands", []string{"URL", "init", "sweep", "report", "compare", "serve"}}}

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
		{"Server", []string{"api", "model", "hardware", "gpus"}},
		{"API key", keyUses},
		{"Output", quickOutput},
		{"Verdict", []string{"enforce"}},
	},
	"demo": {
		{"What to measure", []string{"workload", "slo", "input", "output", "set"}},
		{"Load", quickLoad},
		{"What to simulate", []string{"hardware", "gpus"}},
		{"Output", quickOutput},
		{"Verdict", []string{"enforce"}},
	},
	"sweep": {
		{"What to run", []string{"only", "set", "dry-run", "resume", "accept-server-change"}},
		{"Where to send it", []string{"endpoint", "api", "model"}},
		{"API key", keyUses},
		{"Load from many machines", []string{"workers", "listen", "token-file", "tls"}},
		{"Output", []string{"out", "sign", "plain", "json", "metrics-listen"}},
		{"Verdict", []string{"enforce"}},
	},
	"work": {
		{"Leader", []string{"join", "token-file", "tls-ca"}},
		{"Where to send the load", []string{"endpoint"}},
		{"API key", keyUses},
	},
	"report": {
		{"Output", []string{"format", "output", "findings"}},
		{"Verdict", []string{"slo", "recompute", "enforce"}},
		{"For the roofline", []string{"hardware", "gpus", "precision"}},
	},
	"compare": {
		{"What to compare", []string{"base", "accept", "between", "allow"}},
		{"Gate", []string{"gate", "threshold", "on-undecided", "junit"}},
		{"Output", []string{"format", "output"}},
	},
	"verify": {{"Who signed", []string{"key"}}},
	"ask":    {{"Question", []string{"row", "router"}}, {"Output", []string{"format", "output"}}},
	"size": {
		{"Traffic", []string{"rate", "hours", "row", "slo"}},
		{"Server", []string{"from", "model", "hardware", "gpus", "precision", "gpu-hour-usd"}},
		{"Fleet", []string{"router", "start-up"}},
		{"Output", []string{"format", "output"}},
	},
	"why": {{"Output", []string{"format", "output"}}},
	"bisect": {
		{"Revisions", []string{"revs", "repo", "rev"}},
		{"What to run", []string{"only", "set", "metric", "budget", "resume"}},
		{"API key", keyUses},
		{"Output", []string{"out", "format", "output"}},
	},
	"history": {{"Output", []string{"decisions", "format", "output"}}},
	"serve":   {{"Where to listen", []string{"listen"}}},
	"tile": {
		{"Where to send it", []string{"model"}},
		{"API key", keyUses},
		{"What to send", []string{"set", "duration"}},
		{"Output", []string{"out"}},
	},
	"predict": {
		{"Model and hardware", []string{"model", "hardware", "gpus", "set"}},
		{"Workload", []string{"input", "output", "batch"}},
		{"Matrix", []string{"only", "out"}},
		{"Output", []string{"format"}},
	},
	"rehearse": {
		{"Nights", []string{"nights", "change", "noise", "seed"}},
		{"Model and hardware", []string{"model", "hardware", "gpus", "set"}},
		{"Output", []string{"format"}},
	},
	"trace": {
		{"Which requests", []string{"set"}},
		{"Figures", []string{"format"}},
		{"Output", []string{"output", "anonymize", "sessions", "requests"}},
	},
	"trace record": {
		{"Where to listen", []string{"listen", "tls"}},
		{"Where to send it", []string{"to", "tls-ca"}},
		{"What to record", []string{"session-header", "keep-models", "for"}},
		{"Candidate", []string{"shadow", "share", "shadow-key-env", "shadow-warmup"}},
		{"Output", []string{"output", "admin"}},
	},
	"selftest": {
		{"What to run", []string{"quick", "streams", "rates"}},
		{"Output", []string{"save", "format"}},
	},
	"referee": {
		{"Load", []string{"requests", "rate", "arrival"}},
		{"Rounds", []string{"only"}},
		{"Output", []string{"out", "format"}},
		{"Verdict", []string{"enforce"}},
	},
	"mock": {
		{"Where to listen", []string{"listen"}},
		{"What to simulate", []string{"model", "hardware", "gpus", "set", "hostile"}},
	},
}

var (
	quickLoad   = []string{"budget", "rate", "concurrency", "requests", "duration", "dry-run", "resume"}
	quickOutput = []string{"save", "out", "plain", "json", "metrics-listen"}

	keyUses = []string{"api-key-env", "api-key-file", "api-key"}
)
