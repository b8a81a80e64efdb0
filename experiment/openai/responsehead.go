package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// Bounds of a response's header, with interim (1xx) ones: a server could send these for ever. net/http has the first.
const (
	maxHeader  = 1 << 20 // bytes
	maxInterim = 1000    // responses; a gateway may send one a second while the server works

	maxKeptHead = 4 << 10 // a longer header is not compared with the next one
)

func (x *exchange) onResponse(resp *http.Response) {
	x.resp = resp
	x.result.Status = resp.StatusCode
	x.result.Header = resp.Header
}

// onHeader collects the response's header; once it is complete, it returns the bytes behind it. Each byte is
// searched and moved once per piece at most, however many interim responses a piece has.
func (x *exchange) onHeader(b []byte) (rest []byte) {
	before := len(x.head)
	x.head = append(x.head, b...)
	x.headBytes += len(b)
	start, search := 0, max(0, before-len("\n\r")) // an empty line's end may be new, and its start not
	for {
		n := emptyLineEnd(x.head[search:])
		if n == 0 {
			break
		}
		end := search + n
		resp, err := x.client.parseHead(x.head[start:end])
		if err != nil {
			x.protocolErr = err
			return nil
		}
		if resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols { // 101 is final
			x.onResponse(resp)
			x.framing = newFraming(resp)
			return b[max(0, end-before):]
		}
		start, search = end, end
		if x.interim++; x.interim > maxInterim {
			x.protocolErr = fmt.Errorf("more than %d interim (1xx) responses", maxInterim)
			return nil
		}
	}
	x.head = append(x.head[:0], x.head[start:]...)
	x.protocolErr = x.checkHTTP()
	return nil
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

func (x *exchange) checkHTTP() error {
	const first = "HTTP/"
	switch head := x.head; {
	case !bytes.HasPrefix(head, []byte(first[:min(len(head), len(first))])):
		return fmt.Errorf("malformed HTTP response %q", head[:min(len(head), 80)])
	case x.headBytes > maxHeader:
		return errors.New("the header, with its interim (1xx) responses, is longer than 1 MiB")
	}
	return nil
}

type parsedHead struct {
	bytes []byte
	resp  *http.Response
}

// parseHead parses a complete header and hides its secrets. Most are the same as the one before: parsed once.
func (c *Client) parseHead(head []byte) (*http.Response, error) {
	if last := c.lastHead.Load(); last != nil && bytes.Equal(last.bytes, head) {
		return last.resp, nil
	}
	resp, err := parseHead(head)
	if err != nil {
		return nil, err
	}
	c.secrets.hideHeader(resp.Header)
	if len(head) <= maxKeptHead {
		c.lastHead.Store(&parsedHead{bytes.Clone(head), resp})
	}
	return resp, nil
}

var headReaders = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

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
