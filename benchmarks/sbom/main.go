// Command sbom puts the licenses of licenses.txt into a CycloneDX file, in place of those that cyclonedx-gomod has guessed:
//
//	sbom ../cmd/bench/licenses.txt FILE.cdx.json
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom LICENSES FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(licenses, file string) error {
	texts, err := os.ReadFile(licenses)
	if err != nil {
		return err
	}
	bom, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if bom, err = licensed(bom, parse(string(texts))); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, bom, 0o644)
}

// parse returns the texts of licenses.txt, by the name of what they are of. A text follows the headings of all that have it.
func parse(licenses string) map[string][]string {
	texts := map[string][]string{}
	var names, lines []string
	end := func() {
		for _, name := range names {
			texts[name] = append(texts[name], strings.Trim(strings.Join(lines, "\n"), "\n"))
		}
		names, lines = nil, nil
	}
	for line := range strings.SplitSeq(licenses, "\n") {
		name, heading := strings.CutPrefix(line, "=== ")
		if !heading {
			lines = append(lines, line)
			continue
		}
		if len(lines) > 0 {
			end()
		}
		names = append(names, name)
	}
	end()
	return texts
}

// signs are words of the licenses that bench's libraries have, by SPDX identifier, each once or more.
var signs = []struct{ id, words string }{
	{"Apache-2.0", "Apache License"},
	{"BSD-3-Clause", "Neither the name of"},
	{"BSD-3-Clause", "may be used to endorse"},
	{"MIT", "Permission is hereby granted, free of charge"},
}

type license struct {
	License struct {
		ID   string      `json:"id,omitempty"`
		Name string      `json:"name,omitempty"`
		Text *attachment `json:"text,omitempty"`
	} `json:"license"`
}

type attachment struct {
	Content string `json:"content"`
}

// licensesOf are the licenses that a text is of, the first one with the text.
func licensesOf(text string) (all []license) {
	for _, s := range signs {
		known := slices.ContainsFunc(all, func(l license) bool { return l.License.ID == s.id })
		if strings.Contains(text, s.words) && !known {
			var l license
			l.License.ID = s.id
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		all = make([]license, 1)
		all[0].License.Name = "notice"
	}
	all[0].License.Text = &attachment{text}
	return all
}

// licensed is a CycloneDX document whose parts have their licenses. A part without one is an error.
func licensed(bom []byte, texts map[string][]string) ([]byte, error) {
	var document struct {
		Metadata   map[string]any   `json:"metadata"`
		Components []map[string]any `json:"components"`
	}
	var all map[string]any
	if err := json.Unmarshal(bom, &all); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(bom, &document); err != nil {
		return nil, err
	}
	if self, ok := document.Metadata["component"].(map[string]any); ok {
		setLicenses(self, texts["bench"])
	}
	for _, c := range document.Components {
		name, _ := c["name"].(string)
		version, _ := c["version"].(string)
		found := texts[name+" "+version]
		if name == "std" {
			found = texts["Go's standard library"]
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no license of %s %s\nhint: make licenses", name, version)
		}
		setLicenses(c, found)
	}
	all["metadata"], all["components"] = document.Metadata, document.Components
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(all)
	return out.Bytes(), err
}

func setLicenses(part map[string]any, texts []string) {
	var all []license
	for _, text := range texts {
		all = append(all, licensesOf(text)...)
	}
	part["licenses"] = all
	delete(part, "evidence") // what cyclonedx-gomod has guessed
}
