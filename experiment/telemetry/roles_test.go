package telemetry

import "testing"

// The prefix cache of the parts that compute prompts has the largest block of theirs; decode has none to say.
func TestCombinedCacheBlock(t *testing.T) {
	part := func(role string, block float64) RoleReading {
		return RoleReading{Role: role, Server: &ServerReading{Engine: "vllm", CacheBlock: &block}}
	}
	got := Combine([]RoleReading{part(RolePrefill, 16), part(RolePrefill, 32), part(RoleDecode, 128)})
	if got.CacheBlock == nil || *got.CacheBlock != 32 {
		t.Errorf("%+v", got)
	}
}
