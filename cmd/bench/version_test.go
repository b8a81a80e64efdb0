package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: "true"}}
	for _, c := range []struct {
		name, main string
		settings   []debug.BuildSetting
		stamp      string
		v, commit  string
	}{
		{"tarball", "(devel)", nil, "", release, ""},
		{"make build", "(devel)", nil, "fedcba987654+changes", release, "fedcba987654+changes"},
		{"go install of a tag", "v1.2.3", nil, "", "v1.2.3", ""},
		{"go install of a candidate", "v1.2.3-rc.1", nil, "", "v1.2.3-rc.1", ""},
		{"go install of a commit", "v0.0.0-20260102030405-abcdefabcdef", nil, "", release, "abcdefabcdef"},
		{"go install of a commit after a tag", "v1.2.4-0.20260102030405-abcdefabcdef", nil, "", release, "abcdefabcdef"},
		{"go build in a clone", "v0.0.0-20260102030405-0123456789ab+dirty", vcs, "", release, "0123456789ab+changes"},
		{"go build in a clone at a tag", "v1.2.3+dirty", vcs, "", "v1.2.3", "0123456789ab+changes"},
		{"the stamp is first", "(devel)", vcs, "fedcba987654", release, "fedcba987654"},
	} {
		v, commit := versionOf(&debug.BuildInfo{Main: debug.Module{Version: c.main}, Settings: c.settings}, c.stamp)
		if v != c.v || commit != c.commit {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, v, commit, c.v, c.commit)
		}
	}
}
