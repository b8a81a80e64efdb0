package endpoint

import (
	"testing"

	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/record"
)

// TestLostReplica: one replica that refuses connections is lost, though the other one answers.
func TestLostReplica(t *testing.T) {
	var m connectionLog
	end := func(replica int, outcome openai.Outcome) {
		m.countLost(&record.Record{Endpoint: &replica}, &load.Job{Result: openai.Result{Outcome: outcome, Sent: 1}})
	}
	for range fewestLost {
		end(0, openai.OK)
		end(1, openai.Connect)
	}
	if !m.serverLost() {
		t.Error("the second replica is gone")
	}
	if end(1, openai.OK); m.serverLost() {
		t.Error("it is back")
	}
}
