package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"bench/experiment/record"
	"bench/experiment/scan"
)

// Writer writes a recording. It stores no text that a server or a caller wrote, whatever the records contain. What
// it has flushed survives a kill. It is not safe for concurrent use.
type Writer struct {
	out  io.Writer
	z    *zstd.Encoder // nil: not compressed
	line []byte        // room
}

// NewWriter writes the header and flushes it. w stays the caller's to close.
func NewWriter(w io.Writer, h Header, compress bool) (*Writer, error) {
	h.Schema, h.TimeUnit = Schema, timeUnit
	out := &Writer{out: w}
	if compress {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(128<<10))
		if err != nil {
			return nil, fmt.Errorf("starting the recording: %w", err)
		}
		out.out, out.z = z, z
	}
	if err := out.encode(h); err != nil {
		return nil, err
	}
	return out, out.Flush()
}

const timeUnit = "ms"

func (w *Writer) Write(e *Exchange) error {
	if _, err := strconv.ParseFloat(string(e.Timestamp), 64); err != nil {
		return errors.New("writing the recording: a request without a timestamp")
	}
	o := scan.Begin(w.line[:0])
	some := func(key string, n int64) {
		if n != 0 {
			o.Int(key, n)
		}
	}
	o.Key("timestamp")
	o.JSON = append(o.JSON, e.Timestamp...)
	o.Int("input_length", int64(e.Input))
	o.Int("output_length", int64(e.Output))
	some("prompt_bytes", int64(e.Bytes))
	some("media_parts", int64(e.Media))
	if len(e.HashIDs) > 0 {
		o.Key("hash_ids")
		o.JSON = append(o.JSON, '[')
		for _, id := range e.HashIDs {
			o.JSON = append(strconv.AppendUint(o.JSON, id, 10), ',')
		}
		o.JSON[len(o.JSON)-1] = ']'
	}
	some("session", int64(e.Session))
	some("turn", int64(e.Turn))
	if e.Class != "" {
		o.Text("class", e.Class)
	}
	some("client_blocked_us", e.BlockedUs)
	o.Key("request")
	o.JSON = Stripped(&e.Request).AppendJSON(o.JSON)
	if e.Shadow != nil {
		o.Key("shadow")
		o.JSON = Stripped(e.Shadow).AppendJSON(o.JSON)
	}
	w.line = o.End()
	return w.write(w.line)
}

func (w *Writer) Counts(c Counts) error {
	if c.Shadow != nil && !knownStops[c.Shadow.Stopped] {
		own := *c.Shadow
		own.Stopped = other
		c.Shadow = &own
	}
	return w.encode(struct {
		Counts Counts `json:"counts"`
	}{c})
}

// Flush hands everything so far to the writer below, so that a reader gets it.
func (w *Writer) Flush() error {
	if w.z == nil {
		return nil
	}
	if err := w.z.Flush(); err != nil {
		return fmt.Errorf("writing the recording: %w", err)
	}
	return nil
}

func (w *Writer) Close() error {
	if w.z == nil {
		return nil
	}
	return w.z.Close()
}

func (w *Writer) encode(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing the recording: %w", err)
	}
	return w.write(text)
}

func (w *Writer) write(line []byte) error {
	if _, err := w.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing the recording: %w", err)
	}
	return nil
}

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
