package hostile

const (
	row    = `{"timestamp": 1, "input_length": 6, "output_length": 2}` + "\n"
	record = `{"schema":"bench/record/v1","i":0,"phase":"window","sent_us":1,"end_us":2,"prompt_asked":1,` +
		`"output_asked":1,"output_tokens":1,"estimated":false,"outcome":"ok"}` + "\n"
)

func files() []Case {
	return []Case{
		file("trace-zstd", "zstd of 3 GB of zeros", zstded(3000, times(1<<20, "\x00"))),
		file("trace-gzip", "gzip of 2 GB of zeros", gzipped(2000, times(1<<20, "\x00"))),
		file("trace-line", "a line of 80 MB", times(80<<20, "x")),
		file("trace-lines", "20 million requests in 300 kB of zstd", zstded(1000, times(20_000, row))),
		file("trace-blanks", "zstd of a billion empty lines", zstded(1000, times(1<<20, "\n"))),
		file("trace-tokens", "a request of two billion tokens",
			one(`{"timestamp": 1, "input_length": 2000000000, "output_length": 2000000000}`+"\n")),
		file("trace-number", "numbers beyond all types",
			one(`{"timestamp": 1e999, "input_length": 99999999999999999999, "output_length": 2}`+"\n")),
		file("trace-negative", "negative times and lengths",
			times(100, `{"timestamp": -9e18, "input_length": -6, "output_length": -2}`+"\n")),
		file("trace-blocks", "a request of ten million blocks",
			one(`{"timestamp":1,"input_length":6,"output_length":2,"hash_ids":[`), times(10<<20, "1,"), one("1]}\n")),
		file("trace-deep", "8 MB of brackets", times(8<<20, "[")),
		file("trace-keys", "an object of a million equal keys", one("{"), times(1<<20, `"a":1,`), one("\"a\":1}\n")),
		file("trace-text", "requests with ESC and a script", times(10, `{"prompt":`+quote(evil)+`,"output":"b"}`+"\n")),
		file("trace-bad-utf8", "requests that are not UTF-8",
			times(10, "{\"prompt\":\"\xff\xfe\",\"output\":\"\xed\xa0\x80\"}\n")),
		file("trace-nul", "NUL, and a mark of UTF-16", times(1000, "\xff\xfe{\x00}\x00\n\x00")),
		file("trace-quote", "CSV with a quote that does not end",
			one("TIMESTAMP,ContextTokens,GeneratedTokens\n\""), times(1<<20, "x,\n")),
		file("trace-columns", "CSV with a million columns", times(1<<20, "a,"), one("a\n"), times(1<<20, "a,"),
			one("a\n")),
		file("trace-conversation", "ShareGPT: a conversation of 90 MB",
			one(`[{"conversations":[`), times(3<<20, `{"from":"human","value":"a"},`)),
		file("trace-cut", "zstd that ends within a frame",
			content{1, func() string { return zstded(1, times(1000, row)).text()[:40] }}),
		file("records-doubled", "two million records of one request, in 300 kB of zstd",
			zstded(1000, times(2000, record))),
		file("row-deep", "a row's JSON: a million objects in each other", times(1<<20, `{"a":`)),
	}
}

func file(name, text string, contents ...content) Case {
	return Case{Name: name, Kind: File, Text: text, contents: contents}
}
