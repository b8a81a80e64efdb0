package shadow

import (
	"encoding/json"
	"fmt"
	"testing"

	"bench/experiment/record"
	"bench/live/recording"
	"bench/report/compare"
)

// answered is request i of a recording, 10 ms apart: both answers take 5 ms.
func answered(i int) *recording.Exchange {
	at := int64(10_000 * i)
	r := record.Record{I: i, Phase: record.PhaseWindow, Arrival: record.At(at), Ready: record.At(at), Sent: record.At(at + 10), First: record.At(at + 2000),
		Last: record.At(at + 5000), End: record.At(at + 5000), OutputTokens: 4, Outcome: "ok", Status: 200}
	shadow := r
	return &recording.Exchange{Timestamp: json.Number(fmt.Sprint(at / 1000)), Session: i + 1, Turn: 1, Input: 10, Output: 4, Request: r, Shadow: &shadow}
}

// TestShadowRefused: a candidate that refuses connections after the warm-up fails; its copies have no time of sending.
func TestShadowRefused(t *testing.T) {
	var all []*recording.Exchange
	for i := range 2000 {
		x := answered(i)
		if i%2 == 1 {
			x.Shadow = &record.Record{I: i, Phase: record.PhaseWindow, Arrival: x.Request.Arrival, End: record.At(x.Request.Sent.Us() + 300), Outcome: "connect"}
		}
		all = append(all, x)
	}
	c := shadowed(recording.Header{Recorded: recording.Recorded{Shadow: &recording.Shadow{Share: 1, WarmupS: 5}}}, all, recording.Counts{})
	f := c.find("error_rate", "")
	if f.Verdict != compare.Worse || f.New == nil || *f.New < 0.49 || *f.New > 0.51 {
		t.Errorf("error rate %+v", f)
	}
	if c.Pairs != 1500 || c.Load[1].InFlight > 0.5 || c.Load[1].InFlight < 0.2 {
		t.Errorf("%d pairs, load %+v", c.Pairs, c.Load)
	}
}

// TestShadowUnread: an answer that the proxy could not read neither completed nor failed.
func TestShadowUnread(t *testing.T) {
	var all []*recording.Exchange
	for i := range 1000 {
		x := answered(i)
		if i%4 == 0 {
			x.Request.Outcome = ""
		}
		all = append(all, x)
	}
	c := shadowed(recording.Header{Recorded: recording.Recorded{Shadow: &recording.Shadow{Share: 1}}}, all, recording.Counts{})
	if f := c.find("error_rate", ""); f.Verdict != compare.NoChange || *f.Base != 0 {
		t.Errorf("error rate %+v", f)
	}
	if len(c.LeftOut) != 1 || c.LeftOut[0] != (LeftOut{Unread, 250, false}) {
		t.Errorf("left out %+v", c.LeftOut)
	}
}
