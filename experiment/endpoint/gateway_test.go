package endpoint

import (
	"net/http"
	"testing"
)

func TestGateway(t *testing.T) {
	var g GatewayHeaders
	for _, h := range []http.Header{nil, {}, {"Server": {"uvicorn"}}, {litellmOverhead: {"5"}}} {
		if g.add(h); g.summary() != nil {
			t.Fatalf("%v is no gateway: %+v", h, g.summary())
		}
	}
	for _, ms := range []string{"18.0869", "", "x", "-1", "NaN", "20.5"} {
		g.add(http.Header{litellmVersion: {"1.106.2"}, litellmOverhead: {ms}})
	}
	if s := g.summary(); s == nil || s.Name != "LiteLLM" || s.Version != "1.106.2" || s.Overhead.N != 2 || s.Overhead.Max != 20.5 {
		t.Errorf("%+v", s)
	}
}
