package openai

import (
	"encoding/json"
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

// timing and metric are the field of a name in timings and in metrics; nil: another name.
func (t *serverTimes) timing(key string) *millis {
	switch key {
	case "prompt_ms":
		return &t.prefill
	case "predicted_ms":
		return &t.decode
	}
	return nil
}

func (t *serverTimes) metric(key string) *millis {
	switch key {
	case "queue_time_ms":
		return &t.queue
	case "time_to_first_token_ms":
		return &t.prefill
	case "generation_time_ms":
		return &t.decode
	}
	return nil
}

func (t *serverTimes) parse(top map[string]any) {
	for _, part := range []struct {
		values map[string]any
		field  func(key string) *millis
	}{{object(top["timings"]), t.timing}, {object(top["metrics"]), t.metric}} {
		for key, v := range part.values {
			number, isNumber := v.(json.Number)
			if into := part.field(key); into != nil && isNumber {
				*into = parseMillis(number.String())
			}
		}
	}
}

func (w *walker) timingField(key []byte) (uint, bool) {
	if i, known := timingCounts[string(key)]; known {
		return w.moreCount(i, 3)
	}
	return w.timeField(w.c.times.timing(string(key)))
}

func (w *walker) metricField(key []byte) (uint, bool) {
	if string(key) == "speculative_decoding" {
		return 8, w.Null() || w.object((*walker).draftField)
	}
	return w.timeField(w.c.times.metric(string(key)))
}

func (w *walker) timeField(into *millis) (uint, bool) {
	t := &w.c.times
	for i, field := range [...]*millis{&t.queue, &t.prefill, &t.decode} {
		if field == into {
			return 1 << i, w.millis(into)
		}
	}
	return 0, w.Skip(maxDepth)
}

func (w *walker) millis(into *millis) bool {
	if w.Null() {
		return true
	}
	from := w.At
	if !w.Number() {
		return false
	}
	*into = parseMillis(string(w.Text[from:w.At]))
	return true
}
