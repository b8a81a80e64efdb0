package openai

import (
	"fmt"
	"strings"
	"testing"

	"bench/experiment/target"
)

// Events of vLLM's form: 254 bytes of chat, 348 of completions.
var (
	chatEvent = []byte(`{"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1763600000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}`)
	textEvent = []byte(`{"id":"cmpl-0123456789abcdef0123456789abcdef","object":"text_completion","created":1763600000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"text":" token","logprobs":null,"finish_reason":null,"stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null}],"system_fingerprint":null,"usage":null}`)
)

// Events of vLLM's form, of Responses and Messages.
var (
	responseEvent = []byte(`{"content_index":0,"delta":" token","item_id":"msg_0123456789abcdef","logprobs":[],"output_index":0,"sequence_number":117,"type":"response.output_text.delta"}`)
	messageEvent  = []byte(`{"type":"content_block_delta","delta":{"type":"text_delta","text":" token"},"index":0}`)
)

var benchEvents = map[string][]byte{
	target.Completions: textEvent, target.Chat: chatEvent, target.Responses: responseEvent, target.Messages: messageEvent,
}

func sse(data []byte, n int) []byte {
	return []byte(strings.Repeat("data: "+string(data)+"\n\n", n))
}

func perEvent(b *testing.B, n int) {
	b.ReportAllocs()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
}

func BenchmarkScan(b *testing.B) {
	const n = 1000
	piece := sse(chatEvent, 1)
	var s scanner
	for b.Loop() {
		s.reset()
		for range n {
			s.push(piece, arrival{})
			for _, ok, _ := s.next(); ok; _, ok, _ = s.next() {
			}
		}
	}
	perEvent(b, n)
}

func BenchmarkWalk(b *testing.B) {
	for api, event := range benchEvents {
		b.Run(api, func(b *testing.B) {
			w := walker{api: api}
			for b.Loop() {
				if c, ok := w.read(event); !ok || !c.hasToken {
					b.Fatal("not taken")
				}
			}
			perEvent(b, 1)
		})
	}
}

// BenchmarkWalkAnew is the walker without a shape: the first event of a stream.
func BenchmarkWalkAnew(b *testing.B) {
	for api, event := range benchEvents {
		b.Run(api, func(b *testing.B) {
			w := walker{api: api}
			for b.Loop() {
				w.shape.clear()
				if c, ok := w.read(event); !ok || !c.hasToken {
					b.Fatal("not taken")
				}
			}
			perEvent(b, 1)
		})
	}
}

// BenchmarkFailure is an event with an error.
func BenchmarkFailure(b *testing.B) {
	for api, event := range benchEvents {
		b.Run(api, func(b *testing.B) {
			w := walker{api: api}
			failed := append([]byte(`{"error":"x",`), event[1:]...)
			for b.Loop() {
				if _, err := w.decode(failed); err != nil {
					b.Fatal(err)
				}
			}
			perEvent(b, 1)
		})
	}
}

func BenchmarkFraming(b *testing.B) {
	chunk := []byte(chunked(string(sse(chatEvent, 1))))
	frames := framing{state: inSize}
	for b.Loop() {
		for rest := chunk; len(rest) > 0; {
			_, rest, _ = frames.next(rest)
		}
	}
	perEvent(b, 1)
}

// BenchmarkStream is the whole user-space work on a stream, from the return of a read to the outcome; each
// event has a chunk and a read of its own.
func BenchmarkStream(b *testing.B) {
	for _, s := range speeches {
		b.Run(s.api, func(b *testing.B) { benchmarkStream(b, s) })
	}
}

func benchmarkStream(b *testing.B, s speech) {
	const n = 1000
	c, err := New(Options{BaseURL: "http://test/v1", API: s.api})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	call, r := streamCall, Result{}
	call.Epoch = c.clock.base
	head, event, end := []byte(streamHead), []byte(chunked(string(sse(benchEvents[s.api], 1)))), []byte(chunked(s.finish("length")+s.done)+lastChunk)
	x := &exchange{}
	for b.Loop() {
		r.Reset()
		x.prepare(c, &call, &r)
		x.conn = &conn{rx: &receiver{}}
		x.onData(head, c.clock.base)
		for range n {
			x.onData(event, c.clock.base)
		}
		x.onData(end, c.clock.base)
		if r.Outcome != OK || r.Events != n || !x.bodyComplete {
			b.Fatal(r.Outcome, r.Error, r.Events)
		}
		x.release()
	}
	perEvent(b, n)
}

// BenchmarkDo is a request of one token over loopback, the server's work included.
func BenchmarkDo(b *testing.B) {
	c := testClient(b, listen(b, answer(stream(token("a")+finish("stop")+doneEvent))))
	var r Result
	b.ReportAllocs()
	for b.Loop() {
		if c.Do(b.Context(), &streamCall, &r); r.Outcome != OK {
			b.Fatal(r.Error)
		}
	}
}

// BenchmarkReceive is an event over loopback: write, wake-up, recvmsg, stamp.
func BenchmarkReceive(b *testing.B) {
	const n = 1000
	event := chunked(string(sse(chatEvent, 1)))
	c := testClient(b, listen(b, answer(func(p *peer) {
		p.say(streamHead)
		for range n {
			p.say(event)
		}
		p.say(chunked(finish("stop")+doneEvent), lastChunk)
	})))
	var r Result
	kernel, all := 0, 0
	for b.Loop() {
		if c.Do(b.Context(), &streamCall, &r); r.Outcome != OK {
			b.Fatal(r.Error)
		}
		kernel, all = kernel+r.KernelStamps, all+r.Events
	}
	perEvent(b, n)
	b.ReportMetric(100*float64(kernel)/float64(all), "%kernel")
}

func BenchmarkBody(b *testing.B) {
	e, err := Params{Model: "m", Stream: true, IgnoreEOS: true}.Encoder()
	if err != nil {
		b.Fatal(err)
	}
	ids := make([]int32, 2048)
	for i := range ids {
		ids[i] = int32(i * 61)
	}
	text := strings.Repeat("some words ", 1000)
	for name, prompt := range map[string]Prompt{"ids": {IDs: ids}, "text": {Text: text}} {
		b.Run(fmt.Sprintf("%s/%d", name, max(len(prompt.IDs), len(prompt.Text))), func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				dst = e.Body(dst[:0], prompt, 128)
			}
		})
	}
}
