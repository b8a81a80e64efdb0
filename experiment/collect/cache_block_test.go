package collect

import "testing"

func TestCacheBlock(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want float64 // 0: not reported
	}{
		"vllm on a GPU":  {`vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1000"} 1`, 16},
		"vllm on a CPU":  {`vllm:cache_config_info{block_size="128",cache_hit_alignment_tokens="None",effective_attention_block_size="128",hash_block_size="None"} 1`, 128},
		"vllm, a hybrid": {`vllm:cache_config_info{block_size="16",cache_hit_alignment_tokens="528",effective_attention_block_size="None"} 1`, 528},
		"vllm, aligned more finely than its blocks": {`vllm:cache_config_info{block_size="528",cache_hit_alignment_tokens="16"} 1`, 16},
		"vllm with decode context parallel":         {`vllm:cache_config_info{block_size="16",effective_attention_block_size="64"} 1`, 64},
		"vllm, two engines":                         {"vllm:cache_config_info{block_size=\"16\",engine=\"0\"} 1\nvllm:cache_config_info{block_size=\"32\",engine=\"1\"} 1", 32},
		"vllm, not allocated":                       {`vllm:cache_config_info{block_size="None"} 1`, 0},
		"sglang":                                    {"sglang:page_size{tp_rank=\"0\"} 64\nsglang:page_size{tp_rank=\"1\"} 64", 64},
		"sglang, earlier":                           {`sglang:cache_config_info{page_size="1",num_pages="9"} 1`, 1},
		"trtllm-serve":                              {"trtllm_kv_cache_tokens_per_block 32", 32},
		"triton":                                    {`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per"} 64`, 64},
		"llama.cpp":                                 {"llamacpp:requests_processing 1", 0},
		"garbage":                                   {"sglang:page_size -3\nvllm:cache_config_info{block_size=\"99999999999\"} 1", 0},
	} {
		page, err := readText(c.page+"\n", serverNames)
		if err != nil {
			t.Fatal(name, err)
		}
		got := cacheBlock(page)
		if (got == nil) != (c.want == 0) || got != nil && *got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
