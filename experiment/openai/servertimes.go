package openai

import (
	"strconv"
	"time"
)

// serverTimes are the server's times of one request in a chunk: llama.cpp's timings (prompt_ms, predicted_ms) and
// vLLM's metrics with --enable-per-request-metrics, whose time_to_first_token_ms counts from the scheduling.
type serverTimes struct{ queue, prefill, decode millis }

type millis struct {
	ms    float64
	known bool
}

// maxMillis bounds a time: a longer one is an error of the server.
const maxMillis = 1e10

func parseMillis(number string) millis {
	ms, err := strconv.ParseFloat(number, 64)
	if err != nil || !(ms >= 0 && ms < maxMillis) {
		return millis{}
	}
	return millis{ms: ms, known: true}
}

func (m millis) duration() time.Duration { return time.Duration(m.ms * float64(time.Millisecond)) }

func (t serverTimes) durations() ServerTimes {
	return ServerTimes{
		Queue: t.queue.duration(), Prefill: t.prefill.duration(), Decode: t.decode.duration(),
		HasQueue: t.queue.known, HasPrefill: t.prefill.known, HasDecode: t.decode.known,
	}
}

var (
	timingFields = fields{
		"prompt_ms": (*walker).prefill, "predicted_ms": (*walker).decoding,
		"draft_n": countOf(draftTokens), "draft_n_accepted": countOf(draftAccepted),
	}
	metricFields = fields{
		"queue_time_ms":          func(w *walker) bool { return w.millis(&w.c.times.queue) },
		"time_to_first_token_ms": (*walker).prefill,
		"generation_time_ms":     (*walker).decoding,
		"speculative_decoding":   in(draftFields),
	}
)

func (w *walker) prefill() bool  { return w.millis(&w.c.times.prefill) }
func (w *walker) decoding() bool { return w.millis(&w.c.times.decode) }

func (w *walker) millis(into *millis) bool {
	from := w.At
	if c := w.next(); c != '-' && c-'0' > 9 {
		return w.skip()
	}
	ok := w.Number()
	*into = parseMillis(string(w.Text[from:w.At]))
	return ok
}
