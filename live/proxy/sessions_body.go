package proxy

import (
	"encoding/json"
	"hash/maphash"
	"strings"

	"bench/experiment/target"
)

type bodyKeys struct {
	readable bool
	head     uint64 // of what may change between turns: model, tools, system prompt
	// ends are hashes of the messages up to each one, without the system prompt before them. A last message of the
	// assistant, which the answer completes, is left out.
	ends []uint64
	// examples is how many messages go up to the assistant's last: those of earlier turns, or examples. 0 = none.
	examples int
	state    uint64 // of the name of what the server has stored; 0 = the request names nothing
	atServer bool   // the request refers to something that the server has stored
}

func readBody(seed maphash.Seed, api string, body []byte) bodyKeys {
	var q struct {
		Model, Tools, System, Instructions any
		Messages, Input                    any
		Previous                           any `json:"previous_response_id"`
		Conversation                       any
	}
	if json.Unmarshal(body, &q) != nil {
		return bodyKeys{}
	}
	k := bodyKeys{readable: true, head: hashOf(seed, q.Model, q.Tools, q.System, q.Instructions)}
	switch api {
	case target.Chat, target.Messages:
		k.messages(seed, q.Messages)
	case target.Responses:
		if text, ok := q.Input.(string); ok {
			q.Input = []any{map[string]any{"role": "user", "content": text}}
		}
		k.messages(seed, q.Input)
		if object, ok := q.Conversation.(map[string]any); ok {
			q.Conversation = object["id"]
		}
		for _, stored := range []any{q.Conversation, q.Previous} {
			if id, _ := stored.(string); id != "" {
				k.atServer = true
				k.state = nameKey(seed, stateName, id)
			}
		}
	}
	return k
}

func (k *bodyKeys) messages(seed maphash.Seed, list any) {
	messages, _ := list.([]any)
	assistant, whole := 0, 0 // how many messages go up to the last one of the assistant, and of others
	before := uint64(0)
	for _, m := range messages {
		fields, _ := m.(map[string]any)
		role, _ := fields["role"].(string)
		kind, _ := fields["type"].(string)
		k.atServer = k.atServer || kind == "item_reference"
		sum := hashOf(seed, m)
		if len(k.ends) == 0 && (role == "system" || role == "developer") {
			k.head = mix(seed, k.head, sum)
			continue
		}
		before = mix(seed, before, sum)
		k.ends = append(k.ends, before)
		if role == "assistant" || role == "" && (kind == "reasoning" || strings.HasSuffix(kind, "_call")) {
			assistant = len(k.ends)
			continue
		}
		whole, k.examples = len(k.ends), assistant
	}
	k.ends = k.ends[:whole]
}

func hashOf(seed maphash.Seed, values ...any) uint64 {
	for i := range values {
		values[i] = canonical(values[i])
	}
	text, _ := json.Marshal(values) // what was decoded always encodes
	return maphash.Bytes(seed, text)
}

// canonical is a value of a message in its shortest spelling: clients write a text as a string or as a part, and move
// the marks of what to cache from turn to turn.
func canonical(value any) any {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "cache_control")
		if v["type"] == "message" {
			delete(v, "type")
		}
		for name := range v {
			v[name] = canonical(v[name])
		}
	case []any:
		if len(v) == 1 {
			part, _ := v[0].(map[string]any)
			if text, ok := part["text"].(string); ok {
				return text
			}
		}
		for i := range v {
			v[i] = canonical(v[i])
		}
	}
	return value
}

func mix(seed maphash.Seed, a, b uint64) uint64 {
	return maphash.Comparable(seed, [2]uint64{a, b})
}

const (
	headerName = iota + 1 // a value of the session header
	stateName             // the id of an answer, or of a conversation, at the server
)

func nameKey(seed maphash.Seed, kind uint64, name string) uint64 {
	return mix(seed, kind, maphash.String(seed, name))
}
