package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bench/sweep"
)

// matrix is the matrix that the flags stand for: one tiling row. With two endpoints its repeats are the
// blocks.
func (f *tileFlags) matrix() string {
	pair := len(f.endpoints) > 1
	shares := 1
	if pair {
		shares = f.blocks
	}
	var b strings.Builder
	line := func(key string, value any, stated bool) {
		if stated {
			fmt.Fprintf(&b, "%s = %v\n", key, value)
		}
	}
	fmt.Fprintf(&b, "# made by bench tile from its flags\nname = \"tile\"\nseed = %d\n", f.seed)
	line("order", strconv.Quote(sweep.OrderInterleaved), pair)
	if pair {
		fmt.Fprintf(&b, "\n[target]\nendpoints = [\n%q,\n%q,\n]\n", f.endpoints[0], f.endpoints[1])
	}
	b.WriteString("\n[[row]]\nname = \"tile\"\nworkload = \"tiling\"\n")
	line("input", f.input, f.input != 0)
	line("output", f.output, f.output != 0)
	line("repeats", f.blocks, pair)
	line("concurrency", f.inFlight, f.inFlight != 0)
	line("until", `"stopped"`, f.endless())
	line("duration", quoted(f.duration/time.Duration(shares)), f.duration != 0)
	line("requests", f.requests/shares, f.requests != 0)
	line("grace", quoted(f.grace), true)
	line("warmup", warmupText(f.warmup), f.warmup != "")
	b.WriteString("\n[row.tile]\n")
	line("contexts", f.contexts, f.contexts != 0)
	line("questions", f.questions, f.questions != 0)
	line("question_tokens", f.questionTokens, f.questionTokens != 0)
	line("rounds", f.rounds/shares, f.rounds != 0)
	line("offload_gib", f.offload, f.offload != 0)
	line("offload_gib_per_gpu", f.perGPU, f.perGPU != 0)
	line("ratio", f.ratio, f.ratio != 0)
	line("bytes_per_token", f.bytesPerToken, f.bytesPerToken != 0)
	line("kv_precision", quoted(f.kvPrecision), f.kvPrecision != "")
	line("accounting", quoted(f.accounting), f.accounting != "")
	return b.String()
}

func quoted(v any) string { return strconv.Quote(fmt.Sprint(v)) }

// warmupText quotes a warm-up unless it is a number of requests.
func warmupText(s string) string {
	if _, err := strconv.Atoi(s); err == nil {
		return s
	}
	return quoted(s)
}
