package measured

import (
	"strings"
	"testing"

	"bench/experiment/record"
)

func TestClientTimes(t *testing.T) {
	at := record.At
	stream := &record.Record{Outcome: "ok", Sent: at(1000), FirstEvent: at(3000), First: at(53_000), Last: at(83_000),
		End: at(84_000), Gaps: record.Pack(10_000, 20_000)}
	whole := &record.Record{Outcome: "ok", Sent: at(0), Last: at(30_000), End: at(30_000)}
	failed := &record.Record{Outcome: "status", Sent: at(0), End: at(5)}
	var a, b ClientTimes
	a.Add(stream)
	b.Add(whole)
	b.Add(failed)
	a.Merge(&b)
	var out strings.Builder
	a.Write(&out, "", true)
	a.Write(&out, `server="x"`, false)
	for _, want := range []string{
		"# TYPE gen_ai_client_operation_time_to_first_chunk_seconds histogram",
		`gen_ai_client_operation_time_to_first_chunk_seconds_bucket{le="0.002"} 1`, // the event before the first token
		"gen_ai_client_operation_time_to_first_chunk_seconds_sum 0.002",
		`gen_ai_client_operation_time_per_output_chunk_seconds_bucket{le="0.01"} 1`,
		`gen_ai_client_operation_time_per_output_chunk_seconds_bucket{le="0.02"} 2`,
		`gen_ai_client_operation_time_per_output_chunk_seconds_bucket{le="+Inf"} 3`,
		"gen_ai_client_operation_time_per_output_chunk_seconds_sum 0.08",
		"gen_ai_client_operation_duration_seconds_sum 0.113",
		`gen_ai_client_operation_duration_seconds_count{server="x"} 2`,
		`gen_ai_client_operation_duration_seconds_bucket{server="x",le="0.05"} 1`,
	} {
		if !strings.Contains(out.String(), "\n"+want+"\n") && !strings.HasPrefix(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}
