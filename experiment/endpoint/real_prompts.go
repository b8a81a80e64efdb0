package endpoint

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"bench/experiment"
	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/prompts"
	"bench/experiment/record"
	"bench/experiment/workload"
)

const realForm = "prompts"

// realPrompts is what the bodies of a class with real prompts have in common; the zero value is for any other class.
type realPrompts struct {
	salt string // of the server's prefix cache, as a field of the body; empty = none

	mu     sync.Mutex
	failed error // the first prompt that could not be read
}

func (p *realPrompts) err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// read reads a prompt; nil after an error, which ends the row.
func (p *realPrompts) read(prompt *prompts.Prompt) *prompts.Content {
	c, err := prompt.Read()
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.failed == nil {
			p.failed = err
		}
		return nil
	}
	return c
}

func (p *realPrompts) fields(prompt *prompts.Prompt) []openai.RawField {
	var out []openai.RawField
	for _, f := range prompt.Fields {
		out = append(out, openai.RawField{Name: f.Name, Value: f.Value})
	}
	if p.salt != "" && prompt.Field("cache_salt") == nil {
		salt, _ := json.Marshal(p.salt) // a string has a JSON form
		out = append(out, openai.RawField{Name: "cache_salt", Value: salt})
	}
	return out
}

func (e *classEncoder) realBody(r *workload.Request) []byte {
	c := e.real.read(r.Prompt)
	if c == nil {
		return nil
	}
	return e.encoder(r).RawBody(nil, openai.RawPrompt{Text: c.Text, Messages: c.Messages,
		Fields: e.real.fields(r.Prompt)}, r.Output)
}

func (e *classEncoder) realTurn(next *workload.Request, before *load.Job, body []byte) []byte {
	c := e.real.read(next.Prompt)
	if c == nil {
		return nil
	}
	return e.encoder(next).RawExtend(nil, body, e.real.fields(next.Prompt), &before.Result.Answer,
		c.Later[next.Turn-1], next.Output)
}

func (es classEncoders) saltCaches(spec *experiment.Spec, salt string) {
	for _, c := range spec.Classes() {
		if c.Prompts != nil && c.Prompts.CacheSalt {
			es[c.Name].real.salt = salt
		}
	}
}

func (es classEncoders) err() error {
	for _, e := range es {
		if err := e.real.err(); err != nil {
			return err
		}
	}
	return nil
}

// privateError is the error of a request with a real prompt, without text of the prompt or of the answer. A server may
// repeat either: in a refusal the prompt, in an answer that is not of the API whatever it wrote. Errors of other
// outcomes have no text of the server.
func privateError(r *openai.Result, p *prompts.Prompt) string {
	switch r.Outcome {
	case openai.Status:
		status := fmt.Sprintf("HTTP %d", r.Status)
		if text, own := strings.CutPrefix(r.Error, status); own {
			return status + p.Mask(text)
		}
		return p.Mask(r.Error)
	case openai.Protocol:
		if before, _, quotes := strings.Cut(r.Error, "not of this API: "); quotes {
			return before + "not of this API"
		}
		return p.Mask(r.Error)
	}
	return r.Error
}

var isID = regexp.MustCompile(`^[A-Za-z0-9_.:-]+$`)

func private(rec *record.Record, r *openai.Result, p *prompts.Prompt) {
	rec.Error, rec.Finish = privateError(r, p), p.Mask(rec.Finish)
	if !isID.MatchString(rec.ServerID) {
		rec.ServerID = ""
	}
}
