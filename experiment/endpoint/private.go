package endpoint

import (
	"fmt"
	"regexp"
	"strings"

	"bench/experiment/openai"
	"bench/experiment/prompts"
	"bench/experiment/record"
)

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
