package mock

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"iter"
	"net/http"
	"strings"
)

type message struct {
	Role      string  `json:"role"`
	Content   content `json:"content"`
	ToolCalls []struct {
		Function function `json:"function"`
	} `json:"tool_calls"`
}

type function struct {
	Name       string          `json:"name"`
	Arguments  string          `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
}

type tool struct {
	name   string
	schema json.RawMessage // of its arguments; empty: not stated
}

type content []part

type part struct {
	text  string
	image *picture
}

// contentPart is a part in the form of any of the APIs: text, image_url and input_image of OpenAI, and the blocks
// of Anthropic, of which those with a tool's call or result count as text.
type contentPart struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"` // {"url": …}, in Responses a string
	Source   *struct {
		Type string `json:"type"`
		Data string `json:"data"`
		URL  string `json:"url"`
	} `json:"source"`
	Thinking string          `json:"thinking"`
	Name     string          `json:"name"`    // tool_use
	Input    json.RawMessage `json:"input"`   // tool_use
	Content  content         `json:"content"` // tool_result
}

func (c *content) UnmarshalJSON(b []byte) error {
	*c = nil
	if string(b) == "null" {
		return nil
	}
	if len(b) == 0 || b[0] != '[' {
		var text string
		err := json.Unmarshal(b, &text)
		*c = content{{text: text}}
		return err
	}
	var parts []contentPart
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		if err := c.add(p); err != nil {
			return err
		}
	}
	return nil
}

func (c *content) add(p contentPart) error {
	picture, err := p.picture()
	if err != nil {
		return err
	}
	if picture != nil {
		*c = append(*c, part{image: picture})
		return nil
	}
	text := p.Text + p.Refusal + p.Thinking
	if p.Type == "tool_use" {
		text = p.Name + " " + string(p.Input)
	}
	*c = append(append(*c, part{text: text}), p.Content...)
	return nil
}

type messageList struct {
	list []message
	raw  json.RawMessage
}

func (m *messageList) UnmarshalJSON(b []byte) error {
	m.raw = append(m.raw[:0], b...)
	return json.Unmarshal(b, &m.list)
}

// picture is an image of a request. Its prompt tokens follow from its hash, so that the prefix cache finds it again.
type picture struct {
	Image
	seed uint64 // of its tokens
}

func (p *contentPart) picture() (*picture, error) {
	switch {
	case len(p.ImageURL) > 0:
		return readImageURL(p.ImageURL)
	case p.Source != nil && p.Source.Type == "url":
		return readDataURL(p.Source.URL)
	case p.Source != nil:
		return readImage(p.Source.Data)
	}
	return nil, nil
}

// readImageURL reads {"url": "data:…"}, or the address alone.
func readImageURL(b json.RawMessage) (*picture, error) {
	var url string
	if json.Unmarshal(b, &url) == nil {
		return readDataURL(url)
	}
	var object struct{ URL string }
	if err := json.Unmarshal(b, &object); err != nil {
		return nil, err
	}
	return readDataURL(object.URL)
}

func readDataURL(url string) (*picture, error) {
	head, data, found := strings.Cut(url, ";base64,")
	if !found || !strings.HasPrefix(head, "data:image/") {
		return nil, errors.New("the address of an image must begin with data:image/…;base64,")
	}
	p, err := readImage(data)
	if err == nil && head != "data:image/"+p.Type {
		err = fmt.Errorf("%s has a %s", head, p.Type)
	}
	return p, err
}

// readImage decodes a PNG or JPEG in base64, every pixel of it.
func readImage(data string) (*picture, error) {
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	decoded, kind, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	sum, size := sha256.Sum256(b), decoded.Bounds().Size()
	p := &picture{Image: Image{Bytes: len(b), SHA256: hex.EncodeToString(sum[:]), Type: kind, Width: size.X,
		Height: size.Y}}
	for _, c := range sum[:8] {
		p.seed = p.seed<<8 | uint64(c)
	}
	return p, nil
}

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

type inputItem struct {
	Type      string  `json:"type"`
	Role      string  `json:"role"`
	Content   content `json:"content"`
	Summary   content `json:"summary"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Output    content `json:"output"`
}

func (r *request) settleInput() *apiError {
	in := &r.inResponses
	if in.Previous != "" {
		return &apiError{http.StatusNotFound, "Response with id '" + in.Previous + "' not found.", "response_id"}
	}
	r.MaxTokens = cmp.Or(in.MaxOutputTokens, r.MaxTokens)
	r.raw, r.Messages = in.Input, messageList{}
	if in.Instructions != "" {
		r.Messages.list = append(r.Messages.list, message{Role: "system", Content: content{{text: in.Instructions}}})
	}
	var text content
	var items []inputItem
	err := json.Unmarshal(in.Input, &items)
	if strings.HasPrefix(string(in.Input), `"`) {
		err = json.Unmarshal(in.Input, &text)
		items = []inputItem{{Role: "user", Content: text}}
	}
	if err != nil {
		return invalid("input", "input must be a string or a list of items: %v", err)
	}
	if len(items) == 0 {
		return invalid("input", "input must not be empty.")
	}
	for _, item := range items {
		r.Messages.list = append(r.Messages.list, item.message())
	}
	return nil
}

func (i inputItem) message() message {
	switch i.Type {
	case "function_call":
		return message{Role: "assistant", Content: content{{text: i.Name + " " + i.Arguments}}}
	case "function_call_output":
		return message{Role: "tool", Content: i.Output}
	case "reasoning":
		return message{Role: "assistant", Content: append(i.Summary, i.Content...)}
	}
	return message{Role: i.Role, Content: i.Content}
}
