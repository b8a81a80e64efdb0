package collect

import "strconv"

// sglangConfig has the page size of SGLang's KV cache in its labels; later versions have a gauge.
const sglangConfig = "sglang_cache_config_info"

var blockGauges = engineMetric{largest: true, names: []string{"sglang_page_size", "trtllm_kv_cache_tokens_per_block",
	"nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=tokens_per}"}}

// blockLabels are the labels of info metrics with that size. vLLM's blocks are larger than block_size with a
// decode context parallel size; hybrid models find hits in other steps.
var blockLabels = map[string][]string{
	cacheConfig:  {"block_size", "effective_attention_block_size"},
	sglangConfig: {"page_size"},
}

// hitAlignment is the label of vLLM's cache_config_info that has precedence if it is a number.
const hitAlignment = "cache_hit_alignment_tokens"

// cacheBlock is the size in tokens of the blocks in which the server's prefix cache finds prompts, the largest of
// several engines; nil: not reported.
func cacheBlock(p metricsPage) *float64 {
	size := 0
	for _, s := range p.series {
		own := positiveInt(s.labels[hitAlignment])
		if own == 0 {
			for _, label := range blockLabels[s.name] {
				own = max(own, positiveInt(s.labels[label]))
			}
		}
		size = max(size, own)
	}
	for _, name := range blockGauges.names {
		if v, ok := blockGauges.find(p, name); ok && v >= 1 && v <= maxBlock {
			size = max(size, int(v))
		}
	}
	if size == 0 {
		return nil
	}
	return new(float64(size))
}

// maxBlock bounds a block size that is taken as one.
const maxBlock = 1 << 20

// positiveInt is 0 for a text that is no block size, like "None".
func positiveInt(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxBlock {
		return 0
	}
	return n
}
