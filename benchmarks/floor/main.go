// Floor is the least that a client by net/http does: it sends, reads lines, and keeps the time of each event with a token. It
// parses no JSON, computes nothing and writes when all requests have ended.
//
//	floor http://127.0.0.1:8000 MODEL STREAMS REQUESTS TOKENS RATE      RATE 0: a closed loop of so many streams
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

type request struct {
	Sent  int64   `json:"sent_ns"`
	Times []int64 `json:"user_ns"`
}

func main() {
	url, model := os.Args[1]+"/v1/completions", os.Args[2]
	streams, n, tokens := whole(os.Args[3]), whole(os.Args[4]), whole(os.Args[5])
	rate, err := strconv.ParseFloat(os.Args[6], 64)
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n, DisableCompression: true}}
	body := fmt.Appendf(nil, `{"model":%q,"prompt":"the of and to in a is that for it","max_tokens":%d,"min_tokens":%[2]d,`+
		`"ignore_eos":true,"temperature":0,"stream":true,"stream_options":{"include_usage":true}}`, model, tokens)
	requests := make([]request, n)
	due, start := make(chan int, n), time.Now()
	var running sync.WaitGroup
	send := func(i int) {
		if err := requests[i].send(client, url, body, tokens); err != nil {
			log.Fatal(err)
		}
	}
	for i := range n {
		if rate > 0 {
			time.Sleep(time.Until(start.Add(time.Duration(float64(i) / rate * 1e9))))
			running.Go(func() { send(i) })
		} else {
			due <- i
		}
	}
	close(due)
	for range streams {
		running.Go(func() {
			for i := range due {
				send(i)
			}
		})
	}
	running.Wait()
	out := json.NewEncoder(os.Stdout)
	for i := range requests {
		if err := out.Encode(&requests[i]); err != nil {
			log.Fatal(err)
		}
	}
}

func (r *request) send(client *http.Client, url string, body []byte, tokens int) error {
	r.Times, r.Sent = make([]int64, 0, tokens), time.Now().UnixNano()
	answer, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), []byte(`"choices":[{`)) {
			r.Times = append(r.Times, time.Now().UnixNano())
		}
	}
	if len(r.Times) != tokens {
		return fmt.Errorf("%s: %d events, not %d", answer.Status, len(r.Times), tokens)
	}
	return lines.Err()
}

func whole(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	return n
}
