package forecast

import (
	"fmt"
	"strings"

	"bench/experiment"
	"bench/experiment/safetext"
	"bench/experiment/unit"
)

// TilingText describes what a tiling row sends, and how its contexts were counted. cache is the server's KV
// cache in tokens, 0 = not reported; z is nil if the contexts are stated.
func TilingText(s *experiment.Spec, model string, cache int, z *experiment.Sizing) string {
	var b strings.Builder
	if z != nil {
		fmt.Fprintf(&b, "offload_size: %.6g\n", z.OffloadGiB)
	}
	fmt.Fprintf(&b, "Workload Specifications:\nModel: %s\nNumber of Contexts: %d\nNumber of Questions per Context: %d\n",
		safetext.Escape(model), s.Tile.Contexts, s.Tile.PerContext())
	fmt.Fprintf(&b, "Max Inflight Requests (Load-Balancing): %d\nInput Length: %d\nOutput Length: %s\n",
		s.Concurrency, s.Input.Least(), s.Output)
	if z != nil {
		b.WriteString(sizingText(z))
	}
	b.WriteString(cacheText(cache, s.Tile.Contexts, s.Input.Least()))
	return b.String() + "\n"
}

// sizingText is the arithmetic of the contexts, with what was assumed.
func sizingText(z *experiment.Sizing) string {
	text := fmt.Sprintf("Sizing: %.4g × %.6g GiB / (%.10g bytes a token × %d tokens = %.4g GiB a context)\n",
		z.Ratio, z.OffloadGiB, z.BytesPerToken, z.Input, z.ContextGiB())
	if z.Model == "" {
		return text
	}
	text += fmt.Sprintf("KV cache: %s for %s (change it with --kv-precision)\n", z.KVPrecision, z.Model)
	if z.Full != z.Resident {
		text += fmt.Sprintf("note: an engine that frees blocks behind windows or linear layers keeps %.10g of %.10g bytes a token: "+
			"these contexts would fill %.0f %% of the tier; --kv-accounting resident|full\n",
			z.Resident, z.Full, 100*z.Ratio*z.Resident/z.BytesPerToken)
	}
	return text
}

// cacheText compares all contexts together with the server's KV cache.
func cacheText(cache, contexts, input int) string {
	if cache == 0 {
		return "note: the server does not report its KV cache: the contexts may fit in it\n"
	}
	all := contexts * input
	text := fmt.Sprintf("the contexts together have %s tokens, %.3g times the server's own KV cache (%s)\n",
		unit.Count(all), float64(all)/float64(cache), unit.Count(cache))
	if over := experiment.ContextsToOverflow(cache, input); contexts < over {
		text += fmt.Sprintf("warning: the server's own cache has room for (nearly) all contexts: "+
			"the tier below it is not needed. --fit hbm takes %d contexts\n", over)
	}
	return text
}
