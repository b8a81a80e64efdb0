package prompts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Content is the text of a prompt, as JSON and as its file has it. Exactly one of Text and Messages is set.
type Content struct {
	Text     json.RawMessage   // a string, or a list of token ids
	Messages json.RawMessage   // a list of messages
	Later    []json.RawMessage // strings: what the user says after each answer; nil = nothing
	fields   []Field           // request fields, by name

	format    string
	category  string
	expected  []string
	maxTokens int
	form      form
	notSent   []string // names of the other fields
}

// Bytes is the JSON of the prompt: of its text, its messages, or in a later turn what the user says then.
func (c *Content) Bytes(turn int) []byte {
	if turn > 0 {
		return c.Later[turn-1]
	}
	if c.Messages != nil {
		return c.Messages
	}
	return c.Text
}

// Formats of files.
const (
	formatOwn      = "jsonl"
	formatTurns    = "SPEED-Bench"
	formatShareGPT = "ShareGPT"
	formatBatch    = "OpenAI batch"
)

type record map[string]json.RawMessage

const oneObject = "\nhint: write one JSON object a line: {\"prompt\": \"…\"} or {\"messages\": […]}"

// parse reads one record. What it returns refers to none of raw's memory.
func parse(raw []byte) (*Content, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("the line is not UTF-8\nhint: convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE")
	}
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("%s%s", jsonProblem(err), oneObject)
	}
	for name, v := range r {
		if string(v) == "null" { // as tables write what is absent
			delete(r, name)
		}
	}
	return r.content()
}

// jsonProblem is an error of encoding/json without text of the file.
func jsonProblem(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("not valid JSON at byte %d of the line", syntax.Offset)
	}
	return "not a JSON object"
}

func (r record) content() (*Content, error) {
	has := func(name string) bool { return r[name] != nil }
	c := &Content{format: formatOwn}
	var err error
	switch {
	case has("body") && (has("custom_id") || has("url")):
		c.format = formatBatch
		err = c.batch(r)
	case has("conversations"):
		c.format = formatShareGPT
		err = c.shareGPT(r)
	case has("turns") && !has("prompt") && !has("messages"):
		c.format = formatTurns
		err = c.turns(r)
	default:
		err = c.own(r)
	}
	if err == nil {
		err = c.common(r)
	}
	slices.SortFunc(c.fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(c.notSent)
	return c, err
}

func (c *Content) own(r record) error {
	prompt, messages := r["prompt"], r["messages"]
	if (prompt == nil) == (messages == nil) {
		if prompt != nil {
			return errors.New("prompt and messages in one line\nhint: remove one of them")
		}
		return errors.New("neither prompt nor messages" + oneObject)
	}
	if turns := r["turns"]; turns != nil {
		var err error
		if c.Later, err = texts(turns); err != nil {
			return err
		}
	}
	delete(r, "prompt")
	delete(r, "messages")
	delete(r, "turns")
	if messages != nil {
		return c.setMessages(messages)
	}
	return c.setText(prompt)
}

func (c *Content) turns(r record) error {
	list, err := texts(r["turns"])
	if err == nil && len(list) == 0 {
		err = errors.New("turns is empty\nhint: remove the line")
	}
	if err != nil {
		return err
	}
	delete(r, "turns")
	c.Text, c.Later = list[0], list[1:]
	return nil
}

// texts are the strings of turns.
func texts(raw json.RawMessage) (list []json.RawMessage, err error) {
	noText := func(text json.RawMessage) bool { return len(text) == 0 || text[0] != '"' }
	if json.Unmarshal(raw, &list) != nil || slices.ContainsFunc(list, noText) {
		return nil, errors.New("turns is not a list of strings\n" +
			"hint: write \"turns\": [\"first question\", \"next question\"]")
	}
	return list, nil
}

// errNoUser is a conversation without a message of the user, which ShareGPT's own files have: it is left out.
var errNoUser = errors.New("no message of the user in the conversation")

// shareGPT reads the user's messages of a conversation. The recorded answers are not sent: the server writes its own.
func (c *Content) shareGPT(r record) error {
	var said []struct {
		From    string
		Role    string
		Value   json.RawMessage
		Content json.RawMessage
	}
	if json.Unmarshal(r["conversations"], &said) != nil {
		return errors.New("conversations is not a list of messages\n" +
			"hint: write {\"from\": \"human\", \"value\": \"…\"} for each")
	}
	delete(r, "conversations")
	var system json.RawMessage
	var user []json.RawMessage
	for _, m := range said {
		text := m.Value
		if text == nil {
			text = m.Content
		}
		if len(text) == 0 || text[0] != '"' {
			return errors.New("a message of the conversation is not a text\nhint: remove the line")
		}
		switch m.From + m.Role {
		case "human", "user":
			user = append(user, text)
		case "system":
			if user == nil {
				system = text
			}
		}
	}
	if len(user) == 0 || string(user[0]) == `""` {
		return errNoUser
	}
	c.Text, c.Later = user[0], user[1:]
	if system != nil {
		c.Text, c.Messages = nil, message("system", system, "user", user[0])
		c.form |= formMessages | formSystem
	}
	return nil
}

func message(parts ...any) json.RawMessage {
	out := []byte{'['}
	for i := 0; i < len(parts); i += 2 {
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"role":%q,"content":%s}`, parts[i], parts[i+1])
	}
	return append(out, ']')
}

// batch reads a line of OpenAI's batch API: its body is the request, but for the model and what bench sets itself.
func (c *Content) batch(r record) error {
	var body record
	if json.Unmarshal(r["body"], &body) != nil || body == nil {
		return errors.New("body is not an object\nhint: write \"body\": {\"messages\": […]}")
	}
	for _, name := range []string{"custom_id", "method", "url", "body"} {
		delete(r, name)
	}
	for name, v := range body {
		switch {
		case string(v) == "null":
		case slices.Contains(setByBench, name):
			c.notSent = append(c.notSent, "body."+name)
		case name == "input":
			r["prompt"] = v
		default:
			r[name] = v
		}
	}
	return c.own(r)
}

func (c *Content) setText(raw json.RawMessage) error {
	if raw[0] == '"' {
		if len(raw) == 2 {
			return errors.New("the prompt is empty\nhint: remove the line")
		}
		c.Text = raw
		return nil
	}
	var ids []int32
	if json.Unmarshal(raw, &ids) != nil || len(ids) == 0 {
		return errors.New("prompt is neither a text nor a list of token ids\n" +
			"hint: write one prompt a line; a list of messages is \"messages\"")
	}
	c.Text, c.form = raw, c.form|formIDs
	return nil
}

// lengthFields are the names under which files have the most tokens to write.
var lengthFields = []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "output_tokens"}

// setByBench are request fields that a line cannot replace.
var setByBench = []string{"model", "stream", "stream_options", "ignore_eos", "min_tokens", "echo", "best_of", "input"}

// common reads what the lines of all formats can have: labels, what is correct, and request fields.
func (c *Content) common(r record) error {
	before := ""
	for _, name := range lengthFields {
		v, ok := r[name]
		if !ok {
			continue
		}
		var x float64
		if json.Unmarshal(v, &x) != nil || x != math.Trunc(x) || x < 1 || x > maxTokens {
			return fmt.Errorf("%s is not a number of tokens from 1 to %d\nhint: write \"%s\": 512", name, maxTokens,
				name)
		}
		if before != "" && c.maxTokens != int(x) {
			return fmt.Errorf("%s %d and %s %d contradict each other\nhint: remove one of them", before, c.maxTokens,
				name, int(x))
		}
		c.maxTokens, before = int(x), name
		delete(r, name)
	}
	if err := c.labels(r); err != nil {
		return err
	}
	if err := c.setSystem(r); err != nil {
		return err
	}
	if extra, ok := r["extra_body"]; ok {
		var fields record
		if json.Unmarshal(extra, &fields) != nil {
			return errors.New("extra_body is not an object\nhint: write \"extra_body\": {\"top_k\": 20}")
		}
		delete(r, "extra_body")
		for name, v := range fields {
			if slices.Contains(setByBench, name) || name == "messages" || name == "prompt" {
				return reserved(name)
			}
			if slices.Contains(lengthFields, name) {
				return fmt.Errorf("extra_body has %s, which is a field of the line\nhint: write it beside extra_body",
					name)
			}
			c.fields = append(c.fields, Field{name, v})
			delete(r, name)
		}
	}
	for name, v := range r {
		switch {
		case slices.Contains(setByBench, name), name == "n" && string(v) != "1":
			return reserved(name)
		case isRequestField[name]:
			c.fields = append(c.fields, Field{name, v})
		default:
			c.notSent = append(c.notSent, name)
		}
		c.form |= toolForm(name, v)
	}
	return nil
}

func reserved(name string) error {
	hint := "remove it"
	switch name {
	case "model":
		hint = `remove it; write model = "…" in [target], or in a class of [[row.mix]]`
	case "ignore_eos", "min_tokens":
		hint = `remove it; write stop = "forced" in the row for answers of their full length`
	}
	return fmt.Errorf("%s is set by bench itself\nhint: %s", name, hint)
}

// longestLabel bounds the name of a category, which is shown in tables.
const longestLabel = 64

var errNoAnswer = errors.New("expected is empty: no answer could be correct\nhint: write the correct answer, or remove expected")

func (c *Content) labels(r record) error {
	if v, ok := r["category"]; ok {
		label, isText := text(v)
		printable := strings.IndexFunc(label, func(x rune) bool { return x < ' ' || x == utf8.RuneError }) < 0
		if !isText || len(label) > longestLabel || !printable {
			return fmt.Errorf("category is not a name of at most %d bytes\nhint: write \"category\": \"coding\"",
				longestLabel)
		}
		c.category = strings.TrimSpace(label)
		delete(r, "category")
	}
	v, ok := r["expected"]
	if !ok {
		return nil
	}
	delete(r, "expected")
	list := []json.RawMessage{v}
	if v[0] == '[' && json.Unmarshal(v, &list) != nil || v[0] == '{' {
		return errors.New("expected is neither a text nor a list of texts\nhint: write \"expected\": \"42\"")
	}
	if len(list) == 0 {
		return errNoAnswer
	}
	for _, one := range list {
		answer, isText := text(one)
		if !isText {
			answer = string(bytes.TrimSpace(one)) // a number, true or false
		}
		if strings.TrimSpace(answer) == "" {
			return errNoAnswer
		}
		c.expected = append(c.expected, answer)
	}
	return nil
}

func text(raw json.RawMessage) (s string, ok bool) {
	return s, len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
}
