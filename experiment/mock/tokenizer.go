package mock

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// The first ids are the special tokens of the chat template; words have the others.
const (
	idStart = 0 // a message begins
	idSep   = 1 // its role is over
	idEnd   = 2 // the message is over
	idFirst = 3
)

const FirstWord = idFirst

// vocab is a tokenizer with that number of ids: one token per word between white space. The word "w17" is
// token 17. The server generates such words, so that a response that is sent back as text has the same ids.
// Other words get an id by their hash.
type vocab int32

func (v vocab) encode(dst []int32, text string) []int32 {
	for word := range strings.FieldsSeq(text) {
		dst = append(dst, v.id(word))
	}
	return dst
}

func (v vocab) id(word string) int32 {
	if digits, ok := strings.CutPrefix(word, "w"); ok {
		if n, err := strconv.ParseUint(digits, 10, 31); err == nil && n < uint64(v) &&
			strconv.FormatUint(n, 10) == digits {
			return int32(n)
		}
	}
	h := fnv.New32a()
	h.Write([]byte(word))
	return idFirst + int32(h.Sum32()%uint32(v-idFirst))
}

// chat renders messages like a ChatML template: start, role, separator, content, end; after the last message
// start, "assistant", separator. That is 4 extra tokens per message and 3 at the end.
func (s *responder) chat(messages []message) []int32 {
	v := s.vocab
	var ids []int32
	for _, m := range messages {
		ids = append(ids, idStart, v.id(m.Role), idSep)
		for _, p := range m.Content {
			ids = v.encode(ids, p.text)
			if p.image != nil {
				ids = v.encodeImage(ids, p.image.seed)
			}
		}
		for _, call := range m.ToolCalls {
			ids = v.encode(ids, call.Function.Name+" "+call.Function.Arguments)
		}
		ids = append(ids, idEnd)
	}
	return append(ids, idStart, v.id("assistant"), idSep)
}

const imageTokens = 576 // of one image

func (v vocab) encodeImage(dst []int32, seed uint64) []int32 {
	for i := range imageTokens {
		dst = append(dst, idFirst+int32(mix(seed+uint64(i))%uint64(v-idFirst)))
	}
	return dst
}

// mix is splitmix64's finalizer (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
