package record

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the record as encoding/json writes it, several times as fast: the load runs in the same process.
func (r *Record) AppendJSON(dst []byte) []byte {
	o := object{dst: append(dst, '{')}
	o.textIf("schema", r.Schema)
	o.number("i", int64(r.I))
	o.textIf("server_id", r.ServerID)
	o.textIf("class", r.Class)
	o.textIf("model", r.Model)
	o.count("endpoint", r.Endpoint)
	o.textIf("category", r.Category)
	o.textIf("prompt_hash", r.PromptHash)
	o.count("session", r.Session)
	o.count("turn", r.Turn)
	o.numberIf("turns", r.Turns)
	o.numberIf("agent", r.Agent)
	o.count("worker", r.Worker)
	o.text("phase", r.Phase)
	o.time("at_us", r.Arrival)
	o.time("ready_us", r.Ready)
	o.time("sent_us", r.Sent)
	o.time("first_event_us", r.FirstEvent)
	o.time("first_us", r.First)
	o.time("first_answer_us", r.FirstAnswer)
	o.time("last_us", r.Last)
	o.time("end_us", r.End)
	o.micros("connect_us", r.ConnectUs)
	o.list("gaps_us", r.Gaps)
	o.list("tokens_per_event", r.TokensPerEvent)
	o.number("prompt_asked", int64(r.PromptRequested))
	o.count("prompt_tokens", r.PromptTokens)
	o.count("cached_tokens", r.CachedTokens)
	o.number("output_asked", int64(r.OutputRequested))
	o.number("output_tokens", int64(r.OutputTokens))
	o.key("estimated")
	o.dst = strconv.AppendBool(o.dst, r.Estimated)
	o.count("reasoning_tokens", r.ReasoningTokens)
	o.flag("reasoning_estimated", r.ReasoningEstimated)
	o.flag("think_tag", r.ThinkTag)
	o.count("drafts", r.Drafts)
	o.count("draft_tokens", r.DraftTokens)
	o.count("accepted_tokens", r.AcceptedTokens)
	if u := r.Impossible; u != nil {
		o.key("impossible_usage")
		own := object{dst: append(o.dst, '{')}
		own.count("prompt_tokens", u.Prompt)
		own.count("cached_tokens", u.Cached)
		own.count("output_tokens", u.Output)
		o.dst = append(own.dst, '}')
	}
	o.text("outcome", r.Outcome)
	o.textIf("error", r.Error)
	o.numberIf("status", r.Status)
	o.textIf("finish", r.Finish)
	if r.Server != nil {
		o.key("server_us")
		o.dst = r.Server.appendJSON(o.dst)
	}
	o.numberIf("turns_lost", r.TurnsLost)
	o.truth("valid", r.Valid)
	o.truth("correct", r.Correct)
	o.textIf("invalid_reason", r.Invalid)
	return append(o.dst, '}')
}

func (t *ServerTimes) appendJSON(dst []byte) []byte {
	o := object{dst: append(dst, '{')}
	o.micros("queue", t.Queue)
	o.micros("prefill", t.Prefill)
	o.micros("decode", t.Decode)
	return append(o.dst, '}')
}

type object struct {
	dst   []byte
	begun bool // has a field
}

func (o *object) key(name string) {
	if o.begun {
		o.dst = append(o.dst, ',')
	}
	o.begun = true
	o.dst = append(o.dst, '"')
	o.dst = append(o.dst, name...)
	o.dst = append(o.dst, '"', ':')
}

func (o *object) number(name string, x int64) {
	o.key(name)
	o.dst = strconv.AppendInt(o.dst, x, 10)
}

func (o *object) numberIf(name string, x int) {
	if x != 0 {
		o.number(name, int64(x))
	}
}

func (o *object) text(name, s string) {
	o.key(name)
	o.dst = appendText(o.dst, s)
}

func (o *object) textIf(name, s string) {
	if s != "" {
		o.text(name, s)
	}
}

func (o *object) time(name string, m Micros) {
	if m.ok {
		o.number(name, m.us)
	}
}

func (o *object) flag(name string, on bool) {
	if on {
		o.key(name)
		o.dst = append(o.dst, "true"...)
	}
}

func (o *object) count(name string, n *int) {
	if n != nil {
		o.number(name, int64(*n))
	}
}

func (o *object) truth(name string, b *bool) {
	if b != nil {
		o.key(name)
		o.dst = strconv.AppendBool(o.dst, *b)
	}
}

func (o *object) micros(name string, us *int64) {
	if us != nil {
		o.number(name, *us)
	}
}

func (o *object) list(name string, p Packed) {
	if !p.IsZero() {
		o.key(name)
		o.dst = p.appendJSON(o.dst)
	}
}

func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string always has an encoding
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
