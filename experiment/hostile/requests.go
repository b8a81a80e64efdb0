package hostile

import "strings"

// Parts of requests. A gateway must see smuggled as a request of its own, or not at all.
const (
	question = `{"model":"` + modelName + `","prompt":"a b","max_tokens":2}`
	smuggled = "GET /smuggled HTTP/1.1\r\nHost: gateway\r\n\r\n"
	chunked  = "Transfer-Encoding: chunked\r\n"
	toAPI    = "POST /v1/completions HTTP/1.1\r\nHost: gateway\r\n"
)

func requests() []Case {
	return []Case{
		post("cl-te", "Content-Length, and chunks that end before it",
			sizeOf("0\r\n\r\n"+smuggled)+chunked, "0\r\n\r\n"+smuggled),
		post("te-cl", "chunks, and a Content-Length that ends within the first",
			"Content-Length: 4\r\n"+chunked, chunk(smuggled)+chunk("")),
		post("te-obfuscated", "Transfer-Encoding: xchunked", "Transfer-Encoding: xchunked\r\n"+sizeOf(question),
			question),
		post("te-tab", "a tab before chunked", "Transfer-Encoding:\tchunked\r\n", chunk(question)+chunk("")),
		post("te-space", "a space before the colon of Transfer-Encoding",
			"Transfer-Encoding : chunked\r\n"+sizeOf(question), question),
		post("te-doubled", "two encodings", chunked+"Transfer-Encoding: identity\r\n", chunk(question)+chunk("")),
		post("te-list", "the encoding gzip, chunked", "Transfer-Encoding: gzip, chunked\r\n", chunk(question)+
			chunk("")),
		post("cl-doubled", "two lengths that differ", sizeOf(question)+"Content-Length: 3\r\n", question),
		post("cl-plus", "Content-Length: +5", "Content-Length: +5\r\n", "{   }"),
		post("cl-negative", "Content-Length: -1", "Content-Length: -1\r\n", question),
		post("cl-huge", "Content-Length: 10^20", "Content-Length: 100000000000000000000\r\n", question),
		post("cl-long", "a Content-Length above the size of the body", "Content-Length: 999\r\n", question),
		post("obs-fold", "a field over two lines", "X-A: b\r\n c\r\n"+sizeOf(question), question),
		raw("bare-lf", "lines that end with LF alone",
			one(strings.ReplaceAll(toAPI+sizeOf(question), "\r", "")+"\n"+question)),
		post("nul", "NUL in a field", "X-A: b\x00c\r\n"+sizeOf(question), question),
		post("cr", "CR in a field", "X-A: b\rX-B: c\r\n"+sizeOf(question), question),
		post("field-name", "a field whose name has a space and a bracket", "X (A: b\r\n"+sizeOf(question), question),
		post("hop-by-hop", "Connection names Host, Content-Length and Authorization",
			"Authorization: Bearer x\r\nConnection: Host, Content-Length, Authorization\r\n"+sizeOf(question),
			question),
		post("two-hosts", "two Host fields", "Host: "+Other+"\r\n"+sizeOf(question), question),
		raw("no-host", "no Host field", one("GET /v1/models HTTP/1.1\r\n\r\n")),
		raw("other-host", "another Host", one("GET /v1/models HTTP/1.1\r\nHost: "+Other+"\r\n\r\n")),
		raw("connect", "CONNECT to another host", one("CONNECT "+Other+" HTTP/1.1\r\nHost: "+Other+"\r\n\r\n")),
		get("absolute-uri", "another host in the target", "http://"+Other+"/v1/models"),
		get("double-slash", "a target //host", "//"+Other+"/v1/models"),
		get("at-host", "a target @host", "@"+Other+"/v1/models"),
		get("user-host", "a target http://gateway@host", "http://gateway@"+Other+"/"),
		get("file-uri", "a target file:///etc/passwd", "file:///etc/passwd"),
		get("traversal", "a path with ../", "/v1/../../../etc/passwd"),
		get("traversal-encoded", "a path with %2e%2e%2f", "/v1/%2e%2e%2f%2e%2e%2fetc/passwd"),
		get("crlf-path", "a path with %0d%0a and a field", "/v1/models%0d%0aX-A:%20b"),
		get("space-path", "a path with a space", "/v1/models x"),
		raw("long-path", "a path of 2 MB", one("GET /"), times(2<<20, "a"), one(" HTTP/1.1\r\nHost: gateway\r\n\r\n")),
		raw("http-09", "HTTP/0.9", one("GET /v1/models\r\n\r\n")),
		raw("http-9", "HTTP/9.9", one("GET /v1/models HTTP/9.9\r\nHost: gateway\r\n\r\n")),
		raw("h2-preface", "the first frames of HTTP/2, and one of 16 MB", one("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+
			"\x00\x00\x00\x04\x00\x00\x00\x00\x00\xff\xff\xff\x00\x00\x00\x00\x00\x01")),
		post("h2c", "Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"+
			"HTTP2-Settings: AAMAAABkAAQAAP__\r\n"+sizeOf(question), question),
		raw("websocket", "Upgrade: websocket", one("GET /v1/completions HTTP/1.1\r\nHost: gateway\r\n"+
			"Connection: Upgrade\r\n"+
			"Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")),
		post("expect-100", "Expect: 100-continue, with the body at once",
			"Expect: 100-continue\r\n"+sizeOf(question), question),
		post("expect-other", "an Expect that does not exist", "Expect: tea\r\n"+sizeOf(question), question),
		post("request-trailers", "trailers with Host and Authorization", "Trailer: Host\r\n"+chunked,
			chunk(question)+"0\r\nHost: "+Other+"\r\nAuthorization: Bearer x\r\n\r\n"),
		raw("head", "HEAD of a completion", one("HEAD /v1/completions HTTP/1.1\r\nHost: gateway\r\n\r\n")),
		raw("method", "a method of 20 kB", times(20<<10, "A"), one(" /v1/models HTTP/1.1\r\nHost: gateway\r\n\r\n")),
	}
}

// bodies are wrong behind the head, or more than a gateway should hold.
func bodies() []Case {
	return []Case{
		post("chunk-extensions", "chunks with extensions of 64 kB",
			chunked, "1;", times(64<<10, "x"), one("\r\n{\r\n1\r\n}\r\n0\r\n\r\n")),
		post("chunk-size-overflow", "a chunk of 2^68 bytes", chunked, "100000000000000000\r\n"+question),
		post("chunk-size-negative", "a chunk of -1 bytes", chunked, "-1\r\n"+question),
		post("chunk-short", "a chunk longer than its size", chunked, "1\r\n"+question+"\r\n0\r\n\r\n"),
		raw("header-300kb", "a field of 300 kB",
			one(toAPI+"X-A: "), times(300<<10, "b"), one("\r\n"+sizeOf(question)+"\r\n"+question)),
		raw("headers-10000", "10,000 fields",
			one(toAPI), times(10_000, "X-A: b\r\n"), one(sizeOf(question)+"\r\n"+question)),
		raw("pipelining", "20 requests at once", times(20, "GET /v1/models HTTP/1.1\r\nHost: gateway\r\n\r\n")),
		raw("half-header", "a header without its end", one(toAPI+"X-A: ")),
		raw("json-deep", "a body of 4 MiB of brackets", one(toAPI+"Content-Length: 4194304\r\n\r\n"),
			times(4<<20, "[")),
		ask("json-doubled", "a body whose keys are doubled",
			`{"prompt":"a","prompt":"b","max_tokens":1,"max_tokens":2,"model":"`+modelName+`"}`),
		ask("json-huge-number", "1e999 tokens", `{"model":"`+modelName+`","prompt":"a","max_tokens":1e999}`),
		ask("json-bad-utf8", "a prompt that is not UTF-8",
			"{\"model\":\""+modelName+"\",\"prompt\":\"\xff\xfe\",\"max_tokens\":2}"),
		ask("json-text", "a model whose name has ESC and a script",
			`{"model":`+quote(evil)+`,"prompt":"a","max_tokens":2}`),
		raw("gzip-request", "a body of 600 MB of zeros, in chunks of gzip",
			one(toAPI+chunked+"Content-Encoding: gzip\r\n\r\n"),
			content{600, func() string { return chunk(gzipped(1, times(1_000_000, "\x00")).text()) }}, one(chunk(""))),
	}
}

func raw(name, text string, contents ...content) Case {
	return Case{Name: name, Kind: Request, Text: text, contents: contents}
}

func get(name, text, target string) Case {
	return raw(name, text, one("GET "+target+" HTTP/1.1\r\nHost: gateway\r\n\r\n"))
}

// post is a request for a completion, with more fields.
func post(name, text, fields, body string, more ...content) Case {
	return raw(name, text, append([]content{one(toAPI + fields + "\r\n" + body)}, more...)...)
}

func ask(name, text, body string) Case { return post(name, text, sizeOf(body), body) }
