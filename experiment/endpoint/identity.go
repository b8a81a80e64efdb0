package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/experiment/unit"
)

func (s *Server) identify(ctx context.Context, c *openai.Client) error {
	t := s.Target
	s.Info = record.TargetInfo{
		Endpoint: target.Redact(s.options.BaseURL), API: t.API, Hardware: t.Hardware, GPUs: t.GPUs,
		Precision: t.Precision, ExtraBody: t.ExtraBody, Model: t.Model,
	}
	if s.Info.API == "" {
		s.Info.API = target.Completions
	}
	models, err := c.Models(ctx)
	if r := Failed(err); err != nil && (t.Model == "" || r != nil && (r.Outcome == openai.Connect || loading(r))) {
		return err
	}
	if s.Info.Model == "" {
		if s.Info.Model, err = onlyModel(models); err != nil {
			return err
		}
	}
	if err == nil {
		s.describe(models)
		if s.listed = quotedNames(models); !slices.Contains(s.listed, strconv.Quote(s.Info.Model)) {
			s.served = s.listed
		}
	}
	s.Info.Version = getJSON(ctx, c, "/version", &s.Info.Headers)
	s.Info.BuildInfo = buildInfo(ctx, c)
	if slices.ContainsFunc(models, func(m openai.Model) bool { return m.OwnedBy == "bench-mock" }) {
		s.Info.Simulated, s.Info.Simulator = true, "bench mock"
		if text, ok := getObject(ctx, c, "/debug")["simulates"].(string); ok {
			s.Info.Simulator = unit.ClipBytes(text, 1000)
		}
	}
	s.Info.Props = serverProps(ctx, c, models)
	if len(models) > 0 && models[0].OwnedBy == "sglang" {
		answer := getObject(ctx, c, "/server_info")
		if answer == nil { // an older one
			answer = getObject(ctx, c, "/get_server_info")
		}
		s.Info.AddFlags(answer)
	}
	return nil
}

func onlyModel(models []openai.Model) (string, error) {
	models = slices.DeleteFunc(slices.Clone(models), func(m openai.Model) bool {
		var adapter struct{ Parent *string }
		return json.Unmarshal(m.Raw, &adapter) == nil && adapter.Parent != nil && *adapter.Parent != ""
	})
	ids := quotedNames(models)
	switch len(ids) {
	case 1:
		return models[0].ID, nil
	case 0:
		return "", errors.New("the server lists no model\nhint: --model NAME, or model = \"…\" in [target]")
	}
	return "", fmt.Errorf("the server has %d models: %s\nhint: choose one: --model %s, or model = %s in [target]",
		len(ids), strings.Join(ids, ", "), ids[0], ids[0])
}

// quotedNames are the names of models, quoted: untrusted text, shown on a terminal.
func quotedNames(models []openai.Model) []string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = strconv.Quote(m.ID)
	}
	return names
}

func (s *Server) describe(models []openai.Model) {
	raw := make([]any, 0, len(models))
	for _, m := range models {
		var v any
		if json.Unmarshal(m.Raw, &v) == nil {
			raw = append(raw, v)
		}
		if m.ID == s.Info.Model {
			s.contextLength = m.MaxModelLen
		}
	}
	s.Info.Models = raw
}

func getObject(ctx context.Context, c *openai.Client, path string) map[string]any {
	answer, _ := getJSON(ctx, c, path, nil).(map[string]any)
	return answer
}

// getJSON is the JSON (or short text) at a path of the server's root; nil without an answer. headers, if not
// nil, gets the public headers of the answer.
func getJSON(ctx context.Context, c *openai.Client, path string, headers *map[string]string) any {
	status, header, body, err := c.Get(ctx, path)
	if err == nil && headers != nil {
		*headers = publicHeaders(header)
	}
	if err != nil || status != http.StatusOK {
		return nil
	}
	var v any
	if json.Unmarshal(body, &v) == nil {
		return v
	}
	return unit.ClipBytes(strings.TrimSpace(string(body)), 200)
}

// publicHeaders keeps the headers that identify servers; others could be private.
func publicHeaders(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"Server", "Via", "X-Powered-By", "X-Served-By", "Openai-Version", "X-Vllm-Version"} {
		if v := h.Get(name); v != "" {
			out[name] = clipHeader(v)
		}
	}
	return out
}

func clipHeader(v string) string { return unit.ClipBytes(v, 200) }

// propsOf are the paths where servers report their model and settings, by the owner of their models, and the facts to
// keep: the others vary from answer to answer, or are long.
var propsOf = map[string]struct {
	path string
	keys []string
}{
	"llamacpp": {"/props", []string{"model_path", "model_ftype", "total_slots", "build_info"}},
	"sglang":   {"/get_model_info", []string{"model_path", "tokenizer_path", "weight_version"}},
}

func serverProps(ctx context.Context, c *openai.Client, models []openai.Model) map[string]any {
	if len(models) == 0 {
		return nil
	}
	props, known := propsOf[models[0].OwnedBy]
	if !known {
		return nil
	}
	answer := getObject(ctx, c, props.path)
	maps.DeleteFunc(answer, func(key string, _ any) bool { return !slices.Contains(props.keys, key) })
	return answer
}

func buildInfo(ctx context.Context, c *openai.Client) []string {
	status, _, body, err := c.Get(ctx, "/metrics")
	if err != nil || status != http.StatusOK {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(body)) {
		name, _, ok := strings.Cut(line, "{")
		if ok && strings.HasSuffix(name, "_info") && !strings.HasPrefix(line, "#") && len(out) < 20 {
			out = append(out, unit.ClipBytes(strings.TrimSpace(line), 4000))
		}
	}
	return out
}

// CacheTokens is the KV cache in tokens, over all engines, by vLLM's cache_config_info; 0: not reported.
func (s *Server) CacheTokens() int {
	sum := 0
	for _, line := range s.Info.BuildInfo {
		if strings.HasPrefix(line, "vllm:cache_config_info{") {
			labels := record.CacheConfig(line)
			size, _ := strconv.Atoi(labels["block_size"]) // 0: not an integer, as "None" until the cache is allocated
			blocks, _ := strconv.Atoi(labels["num_gpu_blocks"])
			sum += size * blocks
		}
	}
	return sum
}
