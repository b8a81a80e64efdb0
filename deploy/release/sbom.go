package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// The parts of an SBOM in CycloneDX 1.6 (cyclonedx.org/docs/1.6/json). It has no serial number and no time: both are
// optional, and two builds make the same one.
type (
	bill struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Ref     string `json:"bom-ref"`
		Type    string `json:"type"`
		Name    string `json:"name"`
		Version string `json:"version"`
		URL     string `json:"purl"`
		Hashes  []hash `json:"hashes,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"` // hexadecimal
	}
	dependency struct {
		Ref     string   `json:"ref"`
		Depends []string `json:"dependsOn"`
	}
)

// bundled are the parts of the chart bundle in the report (make echarts), which Go does not record.
var bundled = []component{part("npm/echarts", "echarts", "5.6.0"), part("npm/zrender", "zrender", "5.6.1")}

func part(kind, name, version string) component {
	url := "pkg:" + kind + "@" + version
	return component{Ref: url, Type: "library", Name: name, Version: version, URL: url}
}

// sbom lists what a binary links, as the linker recorded it in the binary itself.
func sbom(binary, version string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	self := part("golang/"+info.Main.Path, info.Main.Path, version)
	self.Type = "application"
	components := append([]component{part("golang/std", "std", strings.TrimPrefix(info.GoVersion, "go"))}, bundled...)
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := part("golang/"+m.Path, m.Path, m.Version)
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")) // SHA-256 over the module's files
		if err != nil || len(sum) == 0 {
			return nil, fmt.Errorf("%s has no checksum", m.Path)
		}
		c.Hashes = []hash{{"SHA-256", fmt.Sprintf("%x", sum)}}
		components = append(components, c)
	}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{self}, Components: components,
		Dependencies: []dependency{{Ref: self.Ref}}}
	for _, c := range components {
		b.Dependencies[0].Depends = append(b.Dependencies[0].Depends, c.Ref)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}
