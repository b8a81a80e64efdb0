package openai

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
)

// unframe reads a response from r as the client does, piece by piece.
func unframe(r io.Reader) (status int, body string, err error) {
	x := &exchange{client: &Client{}, result: new(Result)}
	buf := make([]byte, 300)
	for {
		n, readErr := r.Read(buf)
		b := buf[:n]
		if n > 0 && x.resp == nil {
			if b = x.onHeader(b); x.protocolErr != nil {
				return 0, "", x.protocolErr
			}
		}
		for len(b) > 0 && x.resp != nil {
			piece, rest, err := x.framing.next(b)
			if err != nil {
				return x.resp.StatusCode, body, err
			}
			body += string(piece)
			if b = rest; len(piece) == 0 {
				break
			}
		}
		switch {
		case readErr != nil && x.resp == nil:
			return 0, "", io.ErrUnexpectedEOF
		case readErr != nil:
			return x.resp.StatusCode, body, x.framing.endError()
		}
	}
}

// FuzzFraming: however a response is split, the client reads the same header, body and end as net/http; what
// net/http refuses, the client does not accept as complete.
func FuzzFraming(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nA: b\r\n\r\nhello"), []byte{3})
	f.Add([]byte("HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0A;x=y\r\n0123456789\r\n0\r\nT: r\r\n\r\n"), []byte{1, 7})
	f.Add([]byte("HTTP/1.1 200 OK\ntransfer-encoding:  Chunked\n\n5\nhello\r\n0\n\n"), []byte{})
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), []byte{40})
	f.Add([]byte("HTTP/1.1 204 None\r\n\r\nhello"), []byte{40})
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		status, body, err := unframe(splitReader(in, cuts))
		wholeStatus, wholeBody, wholeErr := unframe(bytes.NewReader(in))
		if status != wholeStatus || body != wholeBody || (err == io.EOF) != (wholeErr == io.EOF) {
			t.Fatalf("%q: %d %q %v in pieces, %d %q %v at once", in, status, body, err, wholeStatus, wholeBody, wholeErr)
		}
		wantStatus, want, wantErr := response(in)
		switch {
		case wantStatus == 0 || wantStatus/100 == 1:
			if status != 0 && wantStatus == 0 {
				t.Errorf("%q: taken, though net/http finds no header", in)
			}
		case status != wantStatus:
			t.Errorf("%q: status %d, want %d", in, status, wantStatus)
		case wantErr == nil && (err != io.EOF || body != want):
			t.Errorf("%q: %q, %v; net/http reads %q", in, body, err, want)
		case wantErr != nil && err == io.EOF:
			t.Errorf("%q: whole, though net/http finds: %v", in, wantErr)
		}
	})
}

// response is net/http's reading.
func response(in []byte) (status int, body string, err error) {
	r := bufio.NewReader(bytes.NewReader(in))
	resp, err := http.ReadResponse(r, nil)
	for err == nil && resp.StatusCode/100 == 1 {
		resp, err = http.ReadResponse(r, nil)
	}
	if err != nil {
		return 0, "", err
	}
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}
