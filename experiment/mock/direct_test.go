package mock

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// direct is an answer over TCP whose tokens a test posts itself.
type direct struct {
	reply  *reply
	client net.Conn
	ended  chan bool // what stream returned
}

func newDirect(t testing.TB, tokens int) *direct {
	t.Helper()
	if !canAttempt {
		t.Skip("no direct writes on " + runtime.GOOS)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	sock, ok := withSocket(t.Context(), server).Value(socketKey{}).(*socket)
	if !ok {
		t.Fatal("a TCP connection without a socket")
	}
	w := chunkWriter{header: http.Header{}, conn: server}
	q := newSeq(0, 32000, []int32{1, 2}, 0)
	q.want, q.finish = tokens, "length"
	p := &reply{w: w, rc: http.NewResponseController(w), start: time.Now(), req: &request{}, q: q, rec: &Record{ID: "id", Model: "m"}, sock: sock, engine: new(Server)}
	p.encoder = p.newEncoder()
	d := &direct{reply: p, client: client, ended: make(chan bool, 1)}
	go func() { d.ended <- p.stream(t.Context()) }()
	return d
}

// chunkWriter writes chunks as net/http does, without the headers.
type chunkWriter struct {
	header http.Header
	conn   net.Conn
}

func (w chunkWriter) Header() http.Header         { return w.header }
func (w chunkWriter) WriteHeader(int)             {}
func (w chunkWriter) FlushError() error           { return nil }
func (w chunkWriter) Write(b []byte) (int, error) { return w.conn.Write(appendChunk(nil, b)) }

// lent waits until the pacer has the reply.
func (d *direct) lent(t testing.TB) {
	for range 60_000 {
		d.reply.q.mail.mu.Lock()
		lent := d.reply.q.mail.sink != nil
		d.reply.q.mail.mu.Unlock()
		if lent {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the reply did not come to the pacer")
}

// What the pacer writes wakes nobody but at the end, and is one chunk an event.
func TestPacerWrites(t *testing.T) {
	d := newDirect(t, 3)
	d.lent(t)
	for i := range 3 {
		if woke := d.reply.q.mail.post([]time.Duration{time.Duration(i)}); woke != (i == 2) {
			t.Errorf("token %d woke the goroutine: %v", i, woke)
		}
	}
	if !<-d.ended {
		t.Error("the stream did not get to its end")
	}
	r := bufio.NewReader(d.client)
	for i := range 3 {
		var size int
		if _, err := fmt.Fscanf(r, "%x\r\n", &size); err != nil {
			t.Fatal(err)
		}
		chunk := make([]byte, size+2)
		if _, err := io.ReadFull(r, chunk); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(chunk), "data: {") || !strings.HasSuffix(string(chunk), "}\n\n\r\n") || strings.Count(string(chunk), "data:") != 1 {
			t.Errorf("chunk %d: %q", i, chunk)
		}
	}
	if rec := d.reply.rec; !slices.Equal(rec.DueNS, []int64{0, 1, 2}) || len(rec.WritingNS) != 3 || len(rec.WrittenNS) != 3 {
		t.Errorf("record %+v", rec)
	}
}

// A socket without room gives the stream to its goroutine, in the middle of an event, and gets it back when
// it is drained.
func TestFullSocket(t *testing.T) {
	const tokens = 10_000
	d := newDirect(t, tokens)
	d.reply.sock.conn.SetWriteBuffer(1 << 15)
	d.client.(*net.TCPConn).SetReadBuffer(1 << 15)
	var read strings.Builder
	done := make(chan error, 1)
	blocked, paced, sent := false, 0, 0 // paced: what the pacer wrote after the socket had been full
	for sent < tokens {
		if sent == 0 || sent >= tokens/2 && paced == 0 {
			d.lent(t) // what was stuck has been read meanwhile, so that the pacer has it again
		}
		if d.reply.q.mail.post([]time.Duration{1}) {
			if !blocked {
				blocked = true
				go func() {
					_, err := io.Copy(&read, httputil.NewChunkedReader(d.client))
					done <- err
				}()
			}
		} else if blocked {
			paced++
		}
		sent++
	}
	if !<-d.ended || !blocked || paced == 0 {
		t.Fatalf("the socket was full: %v; the pacer wrote %d of %d", blocked, paced, tokens)
	}
	fmt.Fprint(d.reply.sock.conn, "0\r\n\r\n")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	words := regexp.MustCompile(`"text":" (w\d+)"`).FindAllStringSubmatch(read.String(), -1)
	if len(words) != tokens {
		t.Fatalf("%d events of %d", len(words), tokens)
	}
	for i, w := range words {
		if want := fmt.Sprintf("w%d", d.reply.q.generated(i)); w[1] != want {
			t.Fatalf("event %d is %s, want %s", i, w[1], want)
		}
	}
	checkTimes(t, d.reply.rec, tokens)
}

// checkTimes holds a record to what is true of any.
func checkTimes(t *testing.T, r *Record, events int) {
	t.Helper()
	if len(r.DueNS) != events || len(r.WritingNS) != events || len(r.WrittenNS) != events {
		t.Fatalf("%d due, %d writing, %d written, want %d each", len(r.DueNS), len(r.WritingNS), len(r.WrittenNS), events)
	}
	for i := range events {
		if r.DueNS[i] > r.WritingNS[i] || r.WritingNS[i] > r.WrittenNS[i] {
			t.Fatalf("event %d: due %d, writing %d, written %d", i, r.DueNS[i], r.WritingNS[i], r.WrittenNS[i])
		}
	}
}

// A write that fails ends the stream.
func TestPacerWriteFails(t *testing.T) {
	d := newDirect(t, 3)
	d.lent(t)
	d.reply.sock.conn.Close()
	if !d.reply.q.mail.post([]time.Duration{1}) {
		t.Error("the goroutine was not woken")
	}
	if <-d.ended {
		t.Error("the stream got to its end")
	}
}

// The same bytes, whoever writes them.
func TestBytesOverTCP(t *testing.T) {
	c := Config{TTFT: time.Millisecond, ITL: time.Millisecond, Model: "m"}
	const body = `{"messages":[{"role":"user","content":"a"}],"max_tokens":20,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}`
	created := regexp.MustCompile(`"created":\d+`)
	var over [2]string
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		_, over[0] = fetch(t, h, "http://mock/v1/chat/completions", body, "X-Request-Id", "1")
	})
	url := real(t, c)
	h := &http.Client{Transport: &http.Transport{}}
	defer h.CloseIdleConnections()
	for range 2 { // the second on the same connection, which net/http must find in order
		_, over[1] = fetch(t, h, url+"/v1/chat/completions", body, "X-Request-Id", "1")
		if a, b := created.ReplaceAllString(over[0], ""), created.ReplaceAllString(over[1], ""); a != b || strings.Count(a, "data:") != 23 {
			t.Fatalf("in memory\n%s\nover TCP\n%s", a, b)
		}
	}
	for _, r := range truths(t, h, url) {
		checkTimes(t, &r, 20)
	}
}

// HTTP/1.0 has no chunks: net/http writes it all.
func TestOldHTTP(t *testing.T) {
	url := real(t, Config{TTFT: time.Millisecond, ITL: time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := idBody(1, 4, 10)
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	text, err := io.ReadAll(conn)
	_, rest, found := strings.Cut(string(text), "\r\n\r\n")
	if err != nil || !found || !strings.HasPrefix(rest, "data: {") || strings.Count(rest, "data: {") != 10 || !strings.HasSuffix(rest, "data: [DONE]\n\n") {
		t.Errorf("%v: %s", err, text)
	}
}

// A client that leaves while the pacer writes is noticed, and its slot freed.
func TestClientLeavingOverTCP(t *testing.T) {
	url := real(t, Config{TTFT: time.Millisecond, ITL: time.Millisecond, MaxNumSeqs: 1})
	h := &http.Client{Transport: &http.Transport{}}
	defer h.CloseIdleConnections()
	ctx, leave := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "POST", url+"/v1/completions", strings.NewReader(idBody(1, 8, 100000)))
	resp, err := h.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	leave()
	resp.Body.Close()
	fetch(t, h, url+"/v1/completions", idBody(2, 8, 2)) // waits for the slot
	all := truths(t, h, url)
	if len(all) != 2 || all[0].Finish != "abort" || all[1].Finish != "length" || len(all[0].DueNS) == 0 {
		t.Fatalf("records %+v", all)
	}
	for _, r := range all {
		checkTimes(t, &r, r.OutputTokens)
	}
}

// The cost of an event from the pacer to a socket of loopback; what the reader takes of the machine is in the
// figure.
func BenchmarkPacedEvent(b *testing.B) {
	d := newDirect(b, 1<<30)
	go io.Copy(io.Discard, d.client)
	d.lent(b)
	due := []time.Duration{0}
	paced := 0
	b.ReportAllocs()
	for b.Loop() {
		if !d.reply.q.mail.post(due) {
			paced++
			continue
		}
		b.StopTimer()
		d.lent(b) // the reader is behind
		b.StartTimer()
	}
	b.ReportMetric(100*float64(paced)/float64(b.N), "%paced")
}
