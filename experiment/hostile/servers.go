package hostile

import (
	"bytes"
	"fmt"
	"strings"
)

// earlyRefusal is the case that answers before it has read the body.
const earlyRefusal = "early-413"

const early = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"

// heads are wrong in status, fields or framing.
func heads() []Case {
	return []Case{
		server("endless-headers", "header fields without an end", flood(ok, "X-A: b\r\n")),
		server("headers-20mb", "20 MB of header fields, then a right answer", func(x *exchange) {
			x.send(ok, strings.Repeat("X-A: "+strings.Repeat("b", 993)+"\r\n", 20_000),
				strings.TrimPrefix(x.whole(), ok))
		}),
		server("endless-status", "a status line without an end", flood("HTTP/1.1 200 ", "x")),
		server("early-hints", "20,000 interim responses (103), then a right answer", func(x *exchange) {
			x.send(strings.Repeat(early, 20_000), x.whole())
		}),
		server("endless-hints", "interim responses (103) without an end", flood(early, early)),
		server("folded-header", "a header field over two lines", func(x *exchange) {
			x.send(ok, "X-A: b\r\n "+Mark+"\r\n", strings.TrimPrefix(x.whole(), ok))
		}),
		server("bad-header", "a header field with ESC and NUL", reply(ok+"X-A: \x1b[31m\x00"+Mark+"\r\n\r\n")),
		server("no-http", "text that is not HTTP", reply(evil+"\r\n\r\n")),
		server("status-0", "the status 000", reply("HTTP/1.1 000 x\r\nContent-Length: 0\r\n\r\n")),
		server("switching", "101 Switching Protocols, unasked",
			reply("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")),
		server("cl-and-te", "both a Content-Length and chunks", func(x *exchange) {
			x.send(ok, "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", chunk(x.right()), chunk(""))
		}),
		server("short-length", "a Content-Length below the size of the body", func(x *exchange) {
			x.send(ok, "Content-Length: 3\r\n\r\n", x.right()+Mark)
		}),
		server("long-length", "a Content-Length above the size of the body", func(x *exchange) {
			x.send(ok, "Content-Length: 999999\r\n\r\n", x.right())
		}),
		server("unsolicited", "a right answer, and a second one that was not asked for", func(x *exchange) {
			x.send(x.whole(), Mark+" "+x.whole())
			x.wait()
		}),
		server("chunk-overflow", "a chunk of 2^68 bytes",
			reply(ok+"Transfer-Encoding: chunked\r\n\r\n100000000000000000\r\nx")),
		server("chunk-extension", "chunks with extensions without an end",
			flood(ok+"Transfer-Encoding: chunked\r\n\r\n1", ";x=y")),
		server("trailers", "trailers without an end",
			flood(ok+"Transfer-Encoding: chunked\r\n\r\n0\r\n", "X-A: b\r\n")),
		server("gzip-bomb", "600 MB of zeros, compressed to 600 kB", func(x *exchange) {
			x.send(strings.Replace(x.head(), ok, ok+"Content-Encoding: gzip\r\n", 1))
			_ = write(x, gzipped(600, times(1_000_000, "\x00")))
		}),
	}
}

// streams are wrong behind the head.
func streams() []Case {
	return []Case{
		server("endless-line", "one event without an end", flood(events+`data: {"choices":[{"text":"`, "x")),
		server("empty-deltas", "events without text, without an end",
			flood("", `data: {"choices":[{"index":0,"text":"","delta":{}}]}`+"\n\n")),
		server("event-flood", "tokens without an end", flood(pieces, chunk(token("a", "")))),
		server("comments", "comments of the event stream, without an end", flood(pieces, chunk(": x\n\n"))),
		server("line-feeds", "empty lines without an end", flood(pieces, chunk("\n"))),
		server("behind-done", "bytes without an end behind [DONE]", func(x *exchange) {
			flood(events+x.stream()+done, ": x\n\n")(x)
		}),
		server("error-body", "an error whose body does not end", flood("HTTP/1.1 500 Oops\r\n\r\n", evil)),

		server("redirect-file", "302 to file:///etc/passwd",
			reply("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n")),
		server("redirect-host", "302 to another host",
			reply("HTTP/1.1 302 Found\r\nLocation: http://"+Other+"/v1/completions\r\nContent-Length: 0\r\n\r\n")),
		server("redirect-307", "307 to another host, to which the request's body would go",
			reply("HTTP/1.1 307 x\r\nLocation: http://"+Other+"/\r\nContent-Length: 0\r\n\r\n")),
		server(earlyRefusal, "413 before the request's body is read",
			reply("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")),
		server("error-text", "an error with ESC, NUL, a script and a formula", reply("HTTP/1.1 400 x\r\n"+
			"Connection: close\r\n\r\n"+`{"error":{"message":`+quote(evil+"\x00")+`,"type":"`+Mark+`"}}`)),
		server("error-echo", "an error that has the request's own header", func(x *exchange) {
			var head bytes.Buffer
			_ = x.request.Header.Write(&head)
			x.send("HTTP/1.1 401 x\r\nConnection: close\r\n\r\n", `{"error":{"message":`+quote(head.String())+"}}")
		}),
		server("error-event", "an error as an event of a stream", func(x *exchange) {
			x.send(events, token("a", ""), `data: {"error":{"message":`+quote(evil)+"}}\n\n")
		}),
		server("html", "200 with a page",
			reply(ok+"Content-Type: text/html\r\nConnection: close\r\n\r\n<html><script>"+evil)),
		server("empty-body", "200 without a body", reply(ok+"Content-Length: 0\r\n\r\n")),
		server("array", "a JSON array in place of an object", replyBody("[1,2,3]")),
		server("bad-utf8", "text that is not UTF-8", func(x *exchange) {
			x.send(x.head(), strings.ReplaceAll(x.right(), `"a`, "\"\xff\xfe\xed\xa0\x80a"))
		}),
		server("deep-json", "4 MB of brackets", replyBody("data: "+strings.Repeat("[", 4<<20)+"\n\n")),
		server("doubled-keys", "each key twice", func(x *exchange) {
			x.send(x.head(), strings.ReplaceAll(x.right(), `"choices":`, `"choices":7,"choices":`))
		}),
		server("huge-number", "a usage of 1e999 tokens", replyUsage(usage("1e999", "1e999"))),
		server("usage-negative", "a usage of -9 tokens", replyUsage(usage("-9", "-9"))),
		server("usage-huge", "a usage of 2e9 tokens", replyUsage(usage("2000000000", "2000000000"))),
		server("cached-huge", "999,999 cached tokens of a prompt of 8",
			replyUsage(usage("8", "8")+`,"prompt_tokens_details":{"cached_tokens":999999}`)),
		server("finish-text", "a finish reason and an id of 1 MB", func(x *exchange) {
			x.send(x.head(), token("a", `,"finish_reason":`+quote(strings.Repeat(evil, 10_000))), done)
		}),

		server("drip", "a byte each 50 ms", drip),
		server("silence", "no answer", (*exchange).wait),
		server("stall", "a header and a token, then nothing", func(x *exchange) {
			x.send(x.head(), token("a", ""))
			x.wait()
		}),
		server("dies-before-headers", "the connection ends before the answer", reply("")),
		server("dies-mid-stream", "the connection ends in a chunk", func(x *exchange) {
			all := chunk(x.right())
			x.send(strings.Replace(x.head(), "Connection: close", "Transfer-Encoding: chunked", 1), all[:len(all)/2])
		}),
	}
}

// others misbehave beside completions.
func others() []Case {
	return []Case{
		about("/v1/models", "model-name", "a model whose name has ESC, a script and a formula",
			reply(sized("application/json", models(evil)))),
		about("/v1/models", "model-flood", "models without an end",
			flood(document+`{"data":[`, `{"id":"x"},`)),
		about("/metrics", "metrics-flood", "ten million lines of metrics", func(x *exchange) {
			x.send(ok + "Content-Type: text/plain\r\nConnection: close\r\n\r\n")
			for n := 0; n < 10_000 && x.failed == nil; n++ {
				x.send(strings.Repeat(fmt.Sprintf("vllm:num_requests_running{engine=\"%d\"} 1\n", n), 1000))
			}
		}),
		about("/metrics", "metrics-nan", "metrics that are doubled, NaN, infinite and negative",
			reply(sized("text/plain", strings.Repeat("vllm:num_requests_running NaN\nvllm:num_requests_waiting -Inf\n"+
				"vllm:kv_cache_usage_perc 1e308\nvllm:generation_tokens_total -5\n", 2)))),
	}
}

func server(name, text string, answer func(*exchange)) Case {
	return Case{Name: name, Kind: Server, Text: text, answer: answer}
}

// about misbehaves on paths with a beginning, and answers completions rightly.
func about(path, name, text string, answer func(*exchange)) Case {
	return Case{Name: name, Kind: Server, Text: text, answer: answer, on: path}
}

func chunk(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
