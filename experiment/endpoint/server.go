package endpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/selftest"
	"bench/experiment/stats"
	"bench/experiment/target"
	"bench/experiment/telemetry/collector"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// Server is a target that was reached and asked what it takes: the model, the request fields that
// it knows, and how prompts of an exact length are made for it.
type Server struct {
	Target experiment.Target
	Info   record.TargetInfo // what it said of itself
	MaxLen int               // context length in tokens; 0 = not told

	Selftest *selftest.Result // what this client was found to be capable of on this machine; nil: not known

	FirstAnswer time.Time  // when the first request with tokens was answered
	LogLines    func() int // lines that the server has logged so far, where its log is ours; nil: not known

	options openai.Options
	apis    map[string]*apiClient
	sources *collector.Sources // nil: the server is not observed
}

// dialect is how one API of the server is spoken to.
type apiClient struct {
	api    string
	client *openai.Client
	vocab  workload.Vocabulary
	omit   map[string]bool // fields that the server refused
	how    string          // the way prompts are sized, for people

	connections string // how they are used, for people

	asked    prober       // what was learnt
	turns    *promptStyle // of conversations; nil: nobody has asked yet
	answered time.Time
}

// formOf is the form of a vocabulary's prompts, as results name it.
func formOf(v *workload.Vocabulary) string {
	if v.IDs > 0 {
		return "token_ids"
	}
	return "text"
}

// Reach connects to the target and learns what Run needs. apis are those that the rows use; key is
// sent as the bearer token, and stays in the request header.
func Reach(ctx context.Context, t experiment.Target, baseURL, key string, apis []string) (*Server, error) {
	s := &Server{Target: t, apis: map[string]*apiClient{}, options: openai.Options{
		BaseURL: baseURL, APIKey: key, Headers: t.Headers, Timeout: t.Timeout,
		Proxy: t.Proxy, HTTP2: t.HTTP2,
	}}
	for _, api := range apis {
		if err := s.connect(ctx, api); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// Close gives the connections back.
func (s *Server) Close() {
	if s.sources != nil {
		s.sources.Close()
	}
	for _, d := range s.apis {
		d.client.Close()
	}
}

// Hide replaces every secret that the server was reached with: the key, user info, header values.
func (s *Server) Hide(text string) string {
	for _, d := range s.apis {
		text = d.client.Hide(text)
	}
	return text
}

// meet learns one API. The first one also learns what the server says of itself.
func (s *Server) connect(ctx context.Context, api string) error {
	first := len(s.apis) == 0
	o := s.options
	o.API = api
	client, err := openai.New(o)
	if err != nil {
		return err
	}
	d := &apiClient{api: api, client: client, omit: map[string]bool{}, connections: "kept open and used again"}
	s.apis[api] = d
	if first {
		if err := s.identify(ctx, client); err != nil {
			return err
		}
	}
	p := prober{ctx: ctx, d: d, api: api, model: s.Info.Model, extra: s.Target.ExtraBody}
	if err := p.probe(); err != nil {
		return fmt.Errorf("trying %s of %s: %w", api, s.Info.Endpoint, err)
	}
	d.asked = p
	if !first {
		return nil
	}
	s.FirstAnswer = d.answered
	s.Info.PromptForm, s.Info.Tokenizer, s.Info.Connections = formOf(&d.vocab), d.how, d.connections
	s.Info.HTTP2, s.Info.Proxy = s.Target.HTTP2, target.Redact(s.Target.Proxy)
	return s.locate(ctx, client)
}

// handshakes is how many connections are opened to measure the round trip to the server.
const handshakes = 20

// locate finds where the client stands.
func (s *Server) locate(ctx context.Context, c *openai.Client) error {
	v, err := c.Vantage(ctx, handshakes)
	if err != nil {
		return err
	}
	s.Info.Vantage = record.Vantage{Place: v.Place}
	var rtt []float64
	for _, d := range v.RTT {
		rtt = append(rtt, unit.Ms(d))
	}
	s.Info.Vantage.RTT = stats.Summarize(rtt)
	return nil
}

// introduce asks the server who it is.
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
	if err != nil && t.Model == "" {
		return err
	}
	if s.Info.Model == "" {
		if s.Info.Model, err = only(models); err != nil {
			return err
		}
	}
	if err == nil {
		s.describe(models)
	}
	s.Info.Version = answer(ctx, c, "/version", &s.Info.Headers)
	s.Info.BuildInfo = buildInfo(ctx, c)
	if ownedBySimulator(models) {
		s.Info.Simulated, s.Info.Simulator = true, simulates(ctx, c)
	}
	s.Info.Identity = s.identity()
	return nil
}

func only(models []openai.Model) (string, error) {
	ids := make([]string, len(models))
	for i, m := range models {
		ids[i] = strconv.Quote(m.ID) // a server's text, on its way to a terminal
	}
	switch len(ids) {
	case 1:
		return models[0].ID, nil
	case 0:
		return "", errors.New("the server lists no model\nhint: name it: model = \"…\" in [target]")
	}
	return "", fmt.Errorf("the server has %d models: %s\nhint: choose one: --model %s, or model = %s in [target]", len(ids), strings.Join(ids, ", "), ids[0], ids[0])
}

func (s *Server) describe(models []openai.Model) {
	raw := make([]any, 0, len(models))
	for _, m := range models {
		var v any
		if json.Unmarshal(m.Raw, &v) == nil {
			raw = append(raw, v)
		}
		if m.ID == s.Info.Model {
			s.MaxLen = m.MaxModelLen
		}
	}
	s.Info.Models = raw
}

// answer is the JSON (or short text) at a path of the server's root; nil where there is none.
func answer(ctx context.Context, c *openai.Client, path string, headers *map[string]string) any {
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
	return unit.Clip(strings.TrimSpace(string(body)), 200)
}

// publicHeaders keeps what tells servers apart, and nothing that could be private.
func publicHeaders(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"Server", "Via", "X-Powered-By", "X-Served-By", "Openai-Version", "X-Vllm-Version"} {
		if v := h.Get(name); v != "" {
			out[name] = unit.Clip(v, 200)
		}
	}
	return out
}

// buildInfo is the info lines of /metrics: versions and cache sizes in vLLM, SGLang and others.
func buildInfo(ctx context.Context, c *openai.Client) []string {
	status, _, body, err := c.Get(ctx, "/metrics")
	if err != nil || status != http.StatusOK {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(body)) {
		name, _, ok := strings.Cut(line, "{")
		if ok && strings.HasSuffix(name, "_info") && !strings.HasPrefix(line, "#") && len(out) < 20 {
			out = append(out, unit.Clip(strings.TrimSpace(line), 1000))
		}
	}
	return out
}

// ownedBySimulator tells whether the models are those of `bench mock`, whatever address it is reached at.
func ownedBySimulator(models []openai.Model) bool {
	for _, m := range models {
		if m.OwnedBy == "bench-mock" {
			return true
		}
	}
	return false
}

// simulates is what such a server says of itself.
func simulates(ctx context.Context, c *openai.Client) string {
	said, _ := answer(ctx, c, "/debug", nil).(map[string]any)
	if text, ok := said["simulates"].(string); ok {
		return unit.Clip(text, 1000)
	}
	return "bench mock"
}

// identity is a hash of what tells this server from another.
func (s *Server) identity() string {
	var served []any
	models, _ := s.Info.Models.([]any) // nil where the server lists none
	for _, m := range models {
		if t, ok := m.(map[string]any); ok {
			served = append(served, t["id"], t["root"], t["max_model_len"], t["owned_by"])
		}
	}
	b, err := json.Marshal([]any{s.Info.Model, served, s.Info.Version, s.Info.Headers["Server"], s.Info.Simulator})
	if err != nil {
		panic(err) // plain values that came from JSON
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Fits says whether every request of a point fits the server's context.
func (s *Server) Fits(spec *experiment.Spec) error {
	longest := spec.Longest()
	if s.MaxLen == 0 || longest <= s.MaxLen {
		return nil
	}
	return fmt.Errorf("%s needs up to %d tokens, the server's context holds %d\nhint: shorten input or output, or start the server with a longer context", spec.Pretty(), longest, s.MaxLen)
}

// Simulated notes that the target is the mock in this process, and what that simulates; an empty text says that it is not.
func (s *Server) Simulated(what string) {
	if what == "" {
		return
	}
	s.Info.Simulated, s.Info.Simulator = true, what
	s.Info.Identity = s.identity()
	s.Info.Endpoint = "mock" // its port is another one each time
}

// inProcess tells whether the server is the mock of this process; one at an address of its own is simulated, too.
func (s *Server) inProcess() bool { return s.Info.Endpoint == "mock" }

// CacheTokens is how many tokens the server's KV cache holds by its own words (vLLM's cache_config_info), all engines together;
// 0 = it does not say.
func (s *Server) CacheTokens() int {
	sum := 0
	for _, line := range s.Info.BuildInfo {
		if strings.HasPrefix(line, "vllm:cache_config_info{") {
			sum += label(line, "block_size") * label(line, "num_gpu_blocks")
		}
	}
	return sum
}

// label is a whole number among the labels of a metric's line; 0 = it is not there, or no number.
func label(line, name string) int {
	for _, before := range []string{"{", ","} {
		if _, rest, ok := strings.Cut(line, before+name+`="`); ok {
			value, _, _ := strings.Cut(rest, `"`)
			n, err := strconv.Atoi(value)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}
