package mock

import (
	"encoding/json"
	"iter"
	"strings"
)

const categoryMarker = "[category:"

// category is metadata.category, else the marker that begins a text of the prompt; empty: none.
func (r *request) category() string {
	var metadata struct{ Category string }
	if json.Unmarshal(r.Metadata, &metadata) == nil && metadata.Category != "" {
		return metadata.Category
	}
	for text := range r.texts() {
		rest, found := strings.CutPrefix(strings.TrimLeft(text, " \t\r\n"), categoryMarker)
		if name, _, closed := strings.Cut(rest, "]"); found && closed {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

func (r *request) texts() iter.Seq[string] {
	return func(yield func(string) bool) {
		var text string
		if len(r.Prompt) > 0 && json.Unmarshal(r.Prompt, &text) == nil && !yield(text) {
			return
		}
		for _, m := range r.Messages.list {
			for _, p := range m.Content {
				if p.image == nil && !yield(p.text) {
					return
				}
			}
		}
	}
}

func (r *request) images() []Image {
	var all []Image
	for _, m := range r.Messages.list {
		for _, p := range m.Content {
			if p.image != nil {
				all = append(all, p.image.Image)
			}
		}
	}
	return all
}
