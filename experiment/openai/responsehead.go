package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// maxHeader limits a response's header, in bytes.
const maxHeader = 1 << 20

// onResponse records the response's status and header.
func (x *exchange) onResponse(resp *http.Response) {
	x.resp = resp
	x.result.Status = resp.StatusCode
	x.client.secrets.hideHeader(resp.Header)
	x.result.Header = resp.Header
}

// onHeader collects the response's header; once it is complete, it returns the bytes behind it.
func (x *exchange) onHeader(b []byte) (rest []byte) {
	before := len(x.head)
	x.head = append(x.head, b...)
	for {
		n := emptyLineEnd(x.head)
		if n == 0 {
			x.protocolErr = checkHTTP(x.head)
			return nil
		}
		resp, err := parseHead(x.head[:n])
		if err != nil {
			x.protocolErr = err
			return nil
		}
		if resp.StatusCode/100 != 1 {
			x.onResponse(resp)
			x.framing = newFraming(resp)
			return b[max(0, n-before):]
		}
		x.head = append(x.head[:0], x.head[n:]...) // a 1xx response
		before -= n
	}
}

// emptyLineEnd is the length of b up to and including its first empty line; 0: none.
func emptyLineEnd(b []byte) int {
	for i := 0; ; {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return 0
		}
		i += n + 1
		if line := b[i:]; len(line) > 0 && line[0] == '\n' {
			return i + 1
		} else if len(line) > 1 && line[0] == '\r' && line[1] == '\n' {
			return i + 2
		}
	}
}

// checkHTTP reports why an incomplete header can't become one.
func checkHTTP(head []byte) error {
	const first = "HTTP/"
	switch {
	case !bytes.HasPrefix(head, []byte(first[:min(len(head), len(first))])):
		return fmt.Errorf("malformed HTTP response %q", head[:min(len(head), 80)])
	case len(head) > maxHeader:
		return errors.New("the header is longer than 1 MiB")
	}
	return nil
}

var headReaders = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

// parseHead parses a complete header.
func parseHead(head []byte) (*http.Response, error) {
	r := headReaders.Get().(*bufio.Reader)
	defer headReaders.Put(r)
	r.Reset(bytes.NewReader(head))
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return nil, err
	}
	resp.Body = nil // it would read from r, which is pooled
	return resp, nil
}
