package forecast

import (
	"fmt"
	"strings"

	"bench/experiment"
	"bench/experiment/text"
	"bench/experiment/unit"
)

// TilingText describes what a tiling row sends to a model, and how its contexts were counted. cache is the
// server's KV cache in tokens, 0 = not reported; z is nil if the contexts are stated.
func TilingText(s *experiment.Spec, model string, cache int, z *experiment.Sizing) string {
	var b strings.Builder
	line := func(what, text string) { fmt.Fprintf(&b, "%-11s%s\n", what, text) }
	line("model", text.Escape(model))
	line("contexts", fmt.Sprintf("%s of %s, %s each", unit.Count(s.Tile.Contexts),
		unit.Plural(s.Input.Least(), "token"), unit.Plural(s.Tile.PerContext(), "question")))
	line("load", fmt.Sprintf("closed loop, %s in flight, %s output tokens each", unit.Plural(s.Concurrency, "request"),
		s.Output))
	switch {
	case z != nil && z.Overflows:
		b.WriteString("note: the KV-cache size of the model is unknown: the contexts exceed the server's own cache,\n" +
			"      as with fit = \"hbm\"; bytes_per_token fills a tier\n")
	case z != nil:
		b.WriteString(sizingText(z))
	}
	b.WriteString(cacheText(cache, s.Tile.Contexts, s.Input.Least()))
	return b.String()
}

func sizingText(z *experiment.Sizing) string {
	text := fmt.Sprintf("size       %.4g × %.6g GiB ÷ (%.10g bytes/token × %d tokens = %.4g GiB)\n",
		experiment.TileRatio, z.OffloadGiB, z.BytesPerToken, z.Input, z.ContextGiB())
	if z.Model == "" {
		return text
	}
	text += fmt.Sprintf("KV cache   %s for %s (kv_precision)\n", z.KVPrecision, z.Model)
	if z.Full != z.Resident {
		text += fmt.Sprintf("note: an engine that frees blocks behind windows or linear layers keeps %.10g of\n"+
			"      %.10g bytes/token: these contexts would fill %.0f %% of the tier;\n      bytes_per_token = %.10g counts so\n",
			z.Resident, z.Full, 100*experiment.TileRatio*z.Resident/z.BytesPerToken, z.Resident)
	}
	return text
}

func cacheText(cache, contexts, input int) string {
	if cache == 0 {
		return "note: the server does not report its KV cache: the contexts may fit in it\n"
	}
	all := contexts * input
	text := fmt.Sprintf("together   %s tokens, %.3g × the server's own KV cache (%s tokens)\n",
		unit.Count(all), float64(all)/float64(cache), unit.Count(cache))
	if over := experiment.ContextsToOverflow(cache, input); contexts < over {
		text += fmt.Sprintf("warning: the server's own KV cache has room for (nearly) all contexts, so that no\n"+
			"         other tier is needed; fit = \"hbm\" takes %s\n", unit.Plural(over, "context"))
	}
	return text
}
