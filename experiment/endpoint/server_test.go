package endpoint

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/target"
	"bench/experiment/unit"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

func TestReachFindsTheModel(t *testing.T) {
	named := experiment.Target{}
	named.Model = "b"
	for _, c := range []struct {
		name   string
		fake   *fake
		target experiment.Target
		model  string
		maxLen int
	}{
		{"the only one", &fake{models: []string{"a"}}, experiment.Target{}, "a", 2048},
		{"one of several", &fake{models: []string{"a", "b"}}, named, "b", 2048},
		{"not listed", &fake{models: []string{"a"}}, named, "b", 0},
		{"no list", &fake{noModel: true}, named, "b", 0},
	} {
		s, err := c.fake.reach(t, c.target, target.Completions)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if s.Info.Model != c.model || s.contextLength != c.maxLen {
			t.Errorf("%s: model %q of %d tokens", c.name, s.Info.Model, s.contextLength)
		}
		b, err := json.Marshal(s.Info)
		if listed := strings.Contains(string(b), "models_answer"); err != nil || listed == c.fake.noModel {
			t.Errorf("%s: %s, %v", c.name, b, err)
		}
	}
}

func TestReachSpeaksBothAPIs(t *testing.T) {
	f := &fake{overhead: 5}
	s, err := f.reach(t, experiment.Target{}, target.Completions, target.Chat)
	if err != nil {
		t.Fatal(err)
	}
	if formOf(&s.apis["chat"].vocab) != "text" || formOf(&s.apis["completions"].vocab) != "token_ids" || s.Info.PromptForm != "token_ids" || s.Info.API != "completions" {
		t.Errorf("chat %s, completions %s, %+v", formOf(&s.apis["chat"].vocab), formOf(&s.apis["completions"].vocab), s.Info)
	}
	if s.apis["chat"].vocab.Overhead != 5 {
		t.Errorf("the chat template has %d tokens", s.apis["chat"].vocab.Overhead)
	}
}

func TestIdentity(t *testing.T) {
	identity := func(f *fake, tgt experiment.Target) string {
		s, err := f.reach(t, tgt, target.Completions)
		if err != nil {
			t.Fatal(err)
		}
		return s.Info.Identity
	}
	b := experiment.Target{}
	b.Model = "b"
	base := identity(&fake{version: "1.0"}, experiment.Target{})
	if len(base) != 16 {
		t.Errorf("identity %q", base)
	}
	if again := identity(&fake{version: "1.0"}, experiment.Target{}); again != base { // on another port
		t.Error("the identity changes with the port")
	}
	for name, other := range map[string]string{
		"version":    identity(&fake{version: "1.1"}, experiment.Target{}),
		"no version": identity(&fake{}, experiment.Target{}),
		"model":      identity(&fake{version: "1.0", models: []string{"n"}}, experiment.Target{}),
		"choice":     identity(&fake{version: "1.0", models: []string{"m", "b"}}, b),
		"no list":    identity(&fake{version: "1.0", noModel: true}, b),
	} {
		if other == base {
			t.Errorf("the identity does not change with the %s", name)
		}
	}
	s, err := (&fake{version: "1.0"}).reach(t, experiment.Target{}, target.Completions)
	if err != nil {
		t.Fatal(err)
	}
	s.MarkSimulated("7B on paper")
	if s.Info.Identity == base || !s.Info.Simulated || s.Info.Endpoint != "mock" {
		t.Errorf("simulated: %+v", s.Info)
	}
}

func TestFits(t *testing.T) {
	spec := fixture.Spec() // 256 + 8
	s := &Server{}
	if err := s.CheckContext(&spec); err != nil {
		t.Errorf("a context that is not told: %v", err)
	}
	s.contextLength = 264
	if err := s.CheckContext(&spec); err != nil {
		t.Error(err)
	}
	s.contextLength = 263
	if err := s.CheckContext(&spec); err == nil || !strings.Contains(err.Error(), "A needs up to 264 tokens, the server's context length is 263\nhint: ") {
		t.Errorf("error %v", err)
	}
	spec.Mix = []workload.Class{{Name: "a", Input: workload.Fixed(10), Output: workload.Fixed(10)}}
	if err := s.CheckContext(&spec); err != nil {
		t.Errorf("a mix of short ones: %v", err)
	}
}

func TestPublicHeadersKeepSecretsOut(t *testing.T) {
	h := http.Header{}
	h.Set("Server", strings.Repeat("é", 150))
	h.Set("Set-Cookie", "secret")
	h.Set("Authorization", "secret")
	h.Set("Via", "proxy")
	got := publicHeaders(h)
	if len(got) != 2 || got["Via"] != "proxy" || !strings.HasSuffix(got["Server"], "é…") || len(got["Server"]) > 203 {
		t.Errorf("%q", got)
	}
	if got := unit.ClipBytes("é", 1); got != "…" {
		t.Errorf("half a rune: %q", got)
	}
}

func TestHideKeepsTheKeyOut(t *testing.T) {
	f := &fake{}
	s, err := Reach(t.Context(), experiment.Target{}, f.start(t), "sk-very-secret", []string{target.Completions}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.Hide("it said sk-very-secret"); strings.Contains(got, "very") {
		t.Error(got)
	}
	if b, _ := json.Marshal(s.Info); strings.Contains(string(b), "very") {
		t.Errorf("%s", b)
	}
}

// A simulated server says so at whatever address it is reached.
func TestSimulatedAtAnAddress(t *testing.T) {
	s := mocked(t, mock.Config{TTFT: time.Millisecond, ITL: 2 * time.Millisecond}, experiment.Target{}, target.Completions)
	if i := s.Info; !i.Simulated || !strings.Contains(i.Simulator, "first token after 1ms, then one every 2ms") || i.Endpoint == "mock" {
		t.Errorf("%+v", i)
	}
	identity := s.Info.Identity
	if s.MarkSimulated(""); !s.Info.Simulated || s.Info.Identity != identity {
		t.Errorf("not in this process, so no longer simulated: %+v", s.Info)
	}
	real, err := (&fake{version: "1.0"}).reach(t, experiment.Target{}, target.Completions)
	if err != nil || real.Info.Simulated || real.Info.Simulator != "" {
		t.Errorf("%v, %+v", err, real.Info)
	}
}

// SGLang reports its flags, at one path or another.
func TestFlagsOfEngines(t *testing.T) {
	for _, c := range []struct{ owner, path, answer, want string }{
		{"sglang", "/server_info", `{"tp_size":2,"api_key":"sk-1","internal_states":[{"load":1}]}`, "map[tp_size:2]"},
		{"sglang", "/get_server_info", `{"tp_size":2}`, "map[tp_size:2]"},
		{"sglang", "/server_info", `{"internal_states":[{"effective_max_running_requests_per_dp":128,"load":1}]}`,
			"map[effective_max_running_requests_per_dp:128]"},
		{"other", "/server_info", `{"tp_size":2}`, "map[]"},
	} {
		f := &fake{owner: c.owner, infos: map[string]string{c.path: c.answer}}
		s, err := f.reach(t, experiment.Target{}, target.Completions)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(s.Info.Flags); got != c.want {
			t.Errorf("%s %s: %s, not %s", c.owner, c.path, got, c.want)
		}
	}
}
