package prompts

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// masked stands for words that could be the prompt's.
const masked = "…"

// Mask keeps of a text of the server, such as an error that repeats the request, what cannot tell the prompt: words
// that errors of servers consist of, and numbers beside them that the prompt does not have.
func (p *Prompt) Mask(s string) string {
	if s == "" {
		return s
	}
	c, err := p.source.index.content(&p.source.index.entries[p.Number])
	if err != nil {
		return masked
	}
	return c.mask(s)
}

func (c *Content) mask(s string) string {
	var own strings.Builder
	for _, raw := range slices.Concat([]json.RawMessage{c.Text, c.Messages}, c.Later) {
		appendTexts(&own, raw)
	}
	for _, f := range c.fields {
		appendTexts(&own, f.Value)
	}
	text := own.String()
	pieces := words(unescape(s))
	plain := slices.DeleteFunc(slices.Clone(pieces), func(w string) bool { return kindOf(w) == between })
	var out strings.Builder
	n := 0 // of plain
	for _, piece := range pieces {
		kept := true
		switch kindOf(piece) {
		case letters:
			kept = isErrorWord()[strings.ToLower(piece)]
			n++
		case digits:
			kept = !strings.Contains(text, piece) && besideErrorWord(plain, n)
			n++
		}
		if !kept {
			piece = masked
		}
		out.WriteString(piece)
	}
	return repeatedMask().ReplaceAllString(out.String(), masked)
}

// besideErrorWord reports whether the word before or after is of errors: numbers in a row could be token ids.
func besideErrorWord(words []string, i int) bool {
	return i > 0 && isErrorWord()[strings.ToLower(words[i-1])] || i+1 < len(words) &&
		isErrorWord()[strings.ToLower(words[i+1])]
}

var repeatedMask = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(masked + `([\s\pP\pS]*` + masked + `)+`)
})

func appendTexts(out *strings.Builder, raw json.RawMessage) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	if d.UseNumber(); d.Decode(&v) == nil {
		appendText(out, v)
	}
}

func appendText(out *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		out.WriteString(v)
		out.WriteByte('\n')
	case json.Number:
		out.WriteString(v.String() + "\n")
	case []any:
		for _, x := range v {
			appendText(out, x)
		}
	case map[string]any:
		for _, x := range v {
			appendText(out, x)
		}
	}
}

var escapes = regexp.MustCompile(`\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\.`)

// unescape undoes the escapes of JSON and Python, so that words begin where they begin.
func unescape(s string) string {
	return escapes.ReplaceAllStringFunc(s, func(e string) string {
		if len(e) == 2 {
			return " "
		}
		n, _ := strconv.ParseUint(e[2:], 16, 32)
		if r := rune(n); utf8.ValidRune(r) && unicode.IsPrint(r) {
			return string(r)
		}
		return " "
	})
}

type wordKind int

const (
	between wordKind = iota // spaces and signs
	letters                 // or a symbol, such as an emoji
	digits
)

func kindOf(s string) wordKind {
	r, _ := utf8.DecodeRuneInString(s)
	return kindOfRune(r)
}

func kindOfRune(r rune) wordKind {
	switch {
	case unicode.IsDigit(r), unicode.IsNumber(r):
		return digits
	case unicode.IsLetter(r), unicode.IsMark(r), unicode.Is(unicode.So, r):
		return letters
	}
	return between
}

func words(s string) []string {
	var out []string
	begin := 0
	var before rune
	for i, r := range s {
		if i > begin && (kindOfRune(r) != kindOfRune(before) || unicode.IsLower(before) && unicode.IsUpper(r)) {
			out, begin = append(out, s[begin:i]), i
		}
		before = r
	}
	if s == "" {
		return nil
	}
	return append(out, s[begin:])
}

// isErrorWord has the words that errors of servers consist of. None of them tells what a prompt is about.
var isErrorWord = sync.OnceValue(func() map[string]bool {
	return setOf(strings.Fields(errorWords)...)
})

const errorWords = `
a about above access additional after all allocate allocated allowed already an and any api are argument arguments array
as assistant at attribute audio auto available bad base batch be because been before begin beginning being below
between block blocks body bool boolean broke broken but by byte bytes cache calculated call calls can cannot capacity
case cause caused certificate change chars chat check choice choices chunk class client close closed code column
completion completions conflict connect connected connection contain contains content context control conversation
core could count create cuda data dead deadline decode decoder decrease default defined delimiter denied detail details
developer device dial dict did different disconnected do does done down during each either element else empty enable
encode encoder end ended engine enough entity entry eof equal error errors event events exceed exceeded exceeds except
exception exec expected expecting extra fail failed failure false fatal field fields file filter finish finished first
float for forbidden form format found free from function functions gateway generate generated generation get gib gpu
grammar greater guided gt handler has have header headers host how however http https i id if image images implemented
in include increase index info initialize input inputs instance instead int integer interface internal invalid io is it
item items its json keep key kv large larger last le least length less level limit limited limits line list loading
local location lock long longer longest lookup loss lost lt made make many match max maximum may mb memory message
messages method mib middle min minimum missing model models more most multi multimodal must name need needs network
next no none not nothing null num number object occurred of off offset on once one only oom open or other out output
over overloaded own param parameter parameters parse parsed parser parsing part parts pass path payload peer per permitted
pipe please pool port position post preempted prefill prefix process processing prompt prompts property protocol
provide provided proxy put pydantic python queue quota range rate raw reached read ready reason reasoning receive
received reduce refused rejected remote replica report reports request requested requests require required requires reset resource
resources response result retry return returned role roles router running runtime sampling schema schemas seconds
send sent sequence sequences server service set shape should shorten shorter size sizes small smaller socket
sorry source specified start state status stop stopped str stream streaming string structured such supported supports
syntax system task tcp temperature template temporarily tensor text than that the their then there this thread time timed
timeout times timestamp tls to token tokenize tokenizer tokens too tool tools top torch total traceback tried true
truncated try tuple type types unable unauthorized unavailable undefined unexpected unhandled unknown unprocessable
unrecognized unsupported unterminated until up url usage use used user using utf valid validation value values version
vision was were when where which while window with within without worker workers write wrong you your
answer bearing caller cancelled malformed s scores t texts vectors arg args completed eos incomplete turn`
