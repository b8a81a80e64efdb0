package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/unit"
)

// matrix is the matrix that the flags stand for: one tiling row. With two endpoints its repeats are the blocks.
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
	line("order", `"interleaved"`, pair)
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

// warmupText is a number of requests as it is, and anything else in quotes.
func warmupText(s string) string {
	if _, err := strconv.Atoi(s); err == nil {
		return s
	}
	return quoted(s)
}

// specificationText says what is going to be sent, and what that rests on.
func specificationText(s *experiment.Spec, server *endpoint.Server, z *experiment.Sizing) string {
	var b strings.Builder
	if z != nil {
		fmt.Fprintf(&b, "offload_size: %.6g\n", z.OffloadGiB)
	}
	fmt.Fprintf(&b, "Workload Specifications:\nModel: %s\nNumber of Contexts: %d\nNumber of Questions per Context: %d\nMax Inflight Requests (Load-Balancing): %d\nInput Length: %d\nOutput Length: %s\n",
		plain(server.Info.Model), s.Tile.Contexts, s.Tile.PerContext(), s.Concurrency, s.Input.Least(), s.Output)
	if z != nil {
		b.WriteString(sizingText(z))
	}
	b.WriteString(cacheText(server.CacheTokens(), s.Tile.Contexts, s.Input.Least()))
	return b.String() + "\n"
}

// sizingText says what the contexts were counted from, and what was assumed.
func sizingText(z *experiment.Sizing) string {
	text := fmt.Sprintf("Sizing: %.4g × %.6g GiB / (%.10g bytes a token × %d tokens = %.4g GiB a context)\n", z.Ratio, z.OffloadGiB, z.BytesPerToken, z.Input, z.ContextGiB())
	if z.Model == "" {
		return text
	}
	text += fmt.Sprintf("KV cache: %s as %s has it (--kv-precision says another)\n", z.KVPrecision, z.Model)
	if z.Full != z.Resident {
		text += fmt.Sprintf("note: with windows or linear layers freed a token takes %.10g bytes of the %.10g, and contexts of that size would fill %.0f %% of the tier; --kv-accounting resident|full\n",
			z.Resident, z.Full, 100*z.Ratio*z.Resident/z.BytesPerToken)
	}
	return text
}

// cacheText holds all contexts together against the cache that the server states; 0 = it states none.
func cacheText(cache, contexts, input int) string {
	if cache == 0 {
		return "note: the server does not state its KV cache: whether the contexts exceed it is not known\n"
	}
	all := contexts * input
	text := fmt.Sprintf("the contexts together have %s tokens, the server's own KV cache %s: %.3g times as much\n",
		unit.Count(all), unit.Count(cache), float64(all)/float64(cache))
	if over := experiment.ContextsOver(cache, input); contexts < over {
		text += fmt.Sprintf("warning: the server's own cache holds all contexts, or nearly: the tier below it is not needed. --fit hbm takes %d contexts\n", over)
	}
	return text
}

// rotationsText sets the first rotation beside the later ones.
func rotationsText(row *record.Row) string {
	r := row.Rotations
	if r == nil {
		return ""
	}
	return "\nFirst rotation: " + rotationText(r.First) + "\nLater rotations: " + rotationText(r.Later) + "\n\n"
}

func rotationText(r record.Rotation) string {
	text := count(r.Requests, "request")
	if r.TTFTMeanMs != nil {
		text += ", average TTFT " + unit.Format(*r.TTFTMeanMs, "ms")
	}
	if r.CachedRate != nil {
		text += fmt.Sprintf(", %.1f %% of the prompt tokens from a cache", 100**r.CachedRate)
	}
	return text
}
