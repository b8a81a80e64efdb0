package recording

import "bench/experiment/record"

const other = "other"

// knownFinishes: a server can write anything as its finish reason, also a piece of the prompt.
var knownFinishes = names("stop", "length", "tool_calls", "function_call", "content_filter", // OpenAI
	"max_output_tokens", "max_tokens", "end_turn", "stop_sequence", "tool_use", "pause_turn", "refusal",
	"model_context_window_exceeded", "abort", "error", "eos_token", "eos", "repetition", other)

// knownOutcomes are the outcomes of package openai.
var knownOutcomes = names("ok", "short", "truncated", "timeout", "connect", "status", "protocol", "cancelled",
	"unfinished", "left")

var knownPhases = names(record.PhaseWarmup, record.PhaseWindow, record.PhaseCooldown)

var knownStops = names("errors", "decided", "operator", other)

func names(list ...string) map[string]bool {
	known := map[string]bool{"": true}
	for _, name := range list {
		known[name] = true
	}
	return known
}

// Stripped is a record as it is stored: figures, and names from closed lists; no text of prompt, answer or error.
func Stripped(r *record.Record) *record.Record {
	s := *r
	s.Schema, s.ServerID, s.Class, s.Model, s.Category, s.PromptHash, s.Error, s.Invalid = "", "", "", "", "", "", "", ""
	for _, field := range []struct {
		text   *string
		known  map[string]bool
		unlike string
	}{{&s.Finish, knownFinishes, other}, {&s.Outcome, knownOutcomes, ""}, {&s.Phase, knownPhases, ""}} {
		if !field.known[*field.text] {
			*field.text = field.unlike
		}
	}
	if s.Phase == "" {
		s.Phase = record.PhaseWindow
	}
	return &s
}
