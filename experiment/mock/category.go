package mock

import (
	"encoding/json"
	"iter"
)

// category is metadata.category; empty: none.
func (r *request) category() string {
	var metadata struct{ Category string }
	_ = json.Unmarshal(r.Metadata, &metadata) // no object: no category
	return metadata.Category
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
