package roofline

import "cmp"

// layering is the pattern of layers with sliding_window, for files without layer_types.
type layering int

const (
	noWindow   layering = iota
	allLayers           // every one
	ifUsed              // layers from max_window_layers on, if use_sliding_window is true
	everyOther          // every second layer is full
	fiveOfSix           // every sixth layer is full, or every sliding_window_pattern-th
	chunkedOf4          // chunked; every fourth layer is full
)

func (c *hfConfig) layers(m *Model, f family) {
	window := c.window(m, f)
	full, slid, chunked, linear := c.alternation(m.Layers, f, window > 0)
	if linear > 0 {
		m.Linear = Linear{
			Layers: linear, KeyHeads: c.need("linear_num_key_heads"), KeyDim: c.need("linear_key_head_dim"),
			ValueHeads: c.need("linear_num_value_heads"), ValueDim: c.need("linear_value_head_dim"),
			Conv: c.need("linear_conv_kernel_dim"),
		}
	}
	if slid+chunked == 0 {
		return
	}
	for _, g := range []KVGroup{{Kind: "full", Layers: full}, {Kind: "window", Layers: slid, Window: window},
		{Kind: "chunked", Layers: chunked, Window: window}} {
		if g.Layers > 0 {
			m.KVGroups = append(m.KVGroups, g)
		}
	}
}

func (c *hfConfig) window(m *Model, f family) int {
	window := c.number("sliding_window")
	if chunk := c.number("attention_chunk_size"); f.window == chunkedOf4 {
		window = chunk
	}
	used := c.is("use_sliding_window", true)
	if f.window == noWindow || !used || (m.MaxContext > 0 && window >= m.MaxContext) {
		return 0
	}
	return window
}

func (c *hfConfig) alternation(layers int, f family, window bool) (full, slid, chunked, linear int) {
	var types []string
	if !c.decode("layer_types", &types) {
		types = c.rule(layers, f)
	}
	if len(types) != layers {
		c.bad("layer_types has %d entries, but num_hidden_layers is %d", len(types), layers)
	}
	for _, t := range types {
		switch {
		case t == "linear_attention":
			linear++
		case t == "full_attention", (t == "sliding_attention" || t == "chunked_attention") && !window:
			full++
		case t == "sliding_attention":
			slid++
		case t == "chunked_attention":
			chunked++
		default:
			c.bad("layer_types has %q, not one of full_attention, sliding_attention, chunked_attention, linear_attention", t)
			return 0, 0, 0, 0
		}
	}
	return full, slid, chunked, linear
}

func (c *hfConfig) rule(layers int, f family) []string {
	interval, pattern := c.number("full_attention_interval"), max(1, cmp.Or(c.number("sliding_window_pattern"), 6))
	from := c.number("max_window_layers")
	types := make([]string, layers)
	for i := range types {
		slid := "sliding_attention"
		switch {
		case interval > 0:
			slid = "linear_attention"
			if (i+1)%interval == 0 {
				slid = ""
			}
		case f.window == noWindow, f.window == ifUsed && i < from, f.window == everyOther && i%2 == 1,
			f.window == fiveOfSix && (i+1)%pattern == 0, f.window == chunkedOf4 && (i+1)%4 == 0:
			slid = ""
		case f.window == chunkedOf4:
			slid = "chunked_attention"
		}
		types[i] = cmp.Or(slid, "full_attention")
	}
	return types
}
