package export

import (
	"io"
	"math"
	"strings"
	"time"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/report"
	"bench/report/export/parquet"
)

// SchemaParquet stands under "schema" in the metadata of a Parquet file.
const SchemaParquet = "bench/requests-parquet/v1"

// Request is one line of the Parquet file: a request with its row. Times are in µs from the epoch of the row;
// null: did not happen, or was not reported. A field of a record within another has its path in the tag record.
type Request struct {
	Run     string     `parquet:"run,dict"`
	Matrix  string     `parquet:"matrix,dict"`
	Row     string     `parquet:"row,dict"`
	Name    string     `parquet:"name,dict"`
	Point   string     `parquet:"point,dict"`
	Variant string     `parquet:"variant,dict"`
	Model   string     `parquet:"model,dict"`
	Repeat  int32      `parquet:"repeat"`
	Rate    *float64   `parquet:"rate_per_s,optional"`                   // requested; inf = all at once; null = closed loop
	Workers *int64     `parquet:"concurrency,optional"`                  // requested; null = no cap
	Epoch   *time.Time `parquet:"epoch,optional,timestamp(microsecond)"` // wall clock at 0 µs; null = not reported
	// codes of the row's invalid findings
	Invalid string `parquet:"invalid,dict"`
	// as in CSV: true, false or predicted
	Simulated string `parquet:"simulated,dict"`
	// percentiles of the row that are only lower bounds
	TooFew string `parquet:"n_too_small,dict"`

	I              int64   `parquet:"i"`
	ServerID       string  `parquet:"server_id"`
	Class          string  `parquet:"class,dict"`
	RequestModel   string  `parquet:"request_model,dict" record:"model"` // empty = the row's
	Endpoint       *int64  `parquet:"endpoint,optional"`
	Worker         *int64  `parquet:"worker,optional"`
	Category       string  `parquet:"category,dict"`
	PromptHash     string  `parquet:"prompt_hash"`
	Session        *int64  `parquet:"session,optional"`
	Turn           *int64  `parquet:"turn,optional"`
	Turns          int64   `parquet:"turns"`
	Agent          int64   `parquet:"agent"`
	Phase          string  `parquet:"phase,dict"`
	AtUs           *int64  `parquet:"at_us,optional"`
	ReadyUs        *int64  `parquet:"ready_us,optional"`
	SentUs         *int64  `parquet:"sent_us,optional"`
	FirstEventUs   *int64  `parquet:"first_event_us,optional"`
	FirstUs        *int64  `parquet:"first_us,optional"`
	FirstAnswerUs  *int64  `parquet:"first_answer_us,optional"`
	LastUs         *int64  `parquet:"last_us,optional"`
	EndUs          *int64  `parquet:"end_us,optional"`
	ConnectUs      *int64  `parquet:"connect_us,optional"`
	GapsUs         []int64 `parquet:"gaps_us,list"`
	TokensPerEvent []int64 `parquet:"tokens_per_event,list"`
	PromptAsked    int64   `parquet:"prompt_asked"`
	PromptTokens   *int64  `parquet:"prompt_tokens,optional"`
	CachedTokens   *int64  `parquet:"cached_tokens,optional"`
	OutputAsked    int64   `parquet:"output_asked"`
	OutputTokens   int64   `parquet:"output_tokens"`
	Estimated      bool    `parquet:"estimated"`

	ReasoningTokens    *int64 `parquet:"reasoning_tokens,optional"`
	ReasoningEstimated bool   `parquet:"reasoning_estimated"`
	ThinkTag           bool   `parquet:"think_tag"`
	Drafts             *int64 `parquet:"drafts,optional"`
	DraftTokens        *int64 `parquet:"draft_tokens,optional"`
	AcceptedTokens     *int64 `parquet:"accepted_tokens,optional"`

	ImpossiblePrompt *int64 `parquet:"impossible_prompt_tokens,optional" record:"impossible_usage.prompt_tokens"`
	ImpossibleCached *int64 `parquet:"impossible_cached_tokens,optional" record:"impossible_usage.cached_tokens"`
	ImpossibleOutput *int64 `parquet:"impossible_output_tokens,optional" record:"impossible_usage.output_tokens"`

	Outcome string `parquet:"outcome,dict"`
	Error   string `parquet:"error"`
	Status  int32  `parquet:"status"`
	Finish  string `parquet:"finish,dict"`

	ServerQueueUs   *int64 `parquet:"server_queue_us,optional" record:"server_us.queue"`
	ServerPrefillUs *int64 `parquet:"server_prefill_us,optional" record:"server_us.prefill"`
	ServerDecodeUs  *int64 `parquet:"server_decode_us,optional" record:"server_us.decode"`

	TurnsLost int64 `parquet:"turns_lost"`

	Valid         *bool  `parquet:"valid,optional"`
	Correct       *bool  `parquet:"correct,optional"`
	InvalidReason string `parquet:"invalid_reason,dict"`
}

// Parquet writes every request of every live row, warm-up and cool-down included, with its phase.
func Parquet(w io.Writer, run *report.Run) error {
	if err := needRecords(run); err != nil {
		return err
	}
	out, err := parquet.NewWriter[Request](w, [2]string{"schema", SchemaParquet})
	if err != nil {
		return err
	}
	rows := run.Live()
	for i := range rows {
		row := &rows[i]
		records, err := requests(run, row)
		if err != nil {
			return err
		}
		lines := make([]Request, len(records))
		for k, r := range records {
			lines[k] = rowColumns(run, row)
			lines[k].fill(r)
		}
		if err := out.Write(lines); err != nil {
			return err
		}
	}
	return out.Close()
}

// rowColumns are the columns that all requests of a row share.
func rowColumns(run *report.Run, row *record.Row) Request {
	s, m := &row.Spec, &run.Manifest
	q := Request{
		Run: m.Run, Matrix: m.Matrix, Row: row.ID, Name: s.Name, Point: s.Label(), Variant: s.Variant, Model: m.Target.Model,
		Simulated: simulated(row),
		Repeat:    int32(s.Repeat), Invalid: strings.Join(row.Codes(record.Invalid), " "),
		TooFew: strings.Join(tooFew(row), " "),
	}
	switch {
	case s.Rate.IsInf():
		q.Rate = new(math.Inf(1))
	case s.Rate > 0:
		q.Rate = new(float64(s.Rate))
	}
	if !row.Epoch.IsZero() {
		q.Epoch = new(row.Epoch)
	}
	if s.Concurrency > 0 {
		q.Workers = new(int64(s.Concurrency))
	}
	return q
}

// tooFew are the percentiles of a row that are only lower bounds: ttft_p99.
func tooFew(row *record.Row) (names []string) {
	for _, metric := range []string{"ttft", "tpot", "itl", "e2e"} {
		sample := row.Summary.Latency(metric)
		for _, percentile := range record.PercentileNames {
			if sample != nil && sample.Grade(percentile) == stats.NoBound {
				names = append(names, metric+"_"+percentile)
			}
		}
	}
	return names
}

// fill sets the columns of the request itself.
func (q *Request) fill(r *record.Record) {
	q.I, q.ServerID, q.Class, q.Phase = int64(r.I), r.ServerID, r.Class, r.Phase
	q.Session, q.Turn, q.TurnsLost = long(r.Session), long(r.Turn), int64(r.TurnsLost)
	q.RequestModel, q.Endpoint, q.Category, q.PromptHash = r.Model, long(r.Endpoint), r.Category, r.PromptHash
	q.Worker, q.Turns, q.Agent = long(r.Worker), int64(r.Turns), int64(r.Agent)
	q.Valid, q.Correct, q.InvalidReason = r.Valid, r.Correct, r.Invalid
	q.AtUs, q.ReadyUs, q.SentUs, q.ConnectUs = offset(r.Arrival), offset(r.Ready), offset(r.Sent), r.ConnectUs
	q.FirstEventUs, q.FirstUs, q.LastUs, q.EndUs = offset(r.FirstEvent), offset(r.First), offset(r.Last), offset(r.End)
	q.GapsUs, q.TokensPerEvent = unpacked(r.Gaps), unpacked(r.TokensPerEvent)
	q.PromptAsked, q.PromptTokens, q.CachedTokens = int64(r.PromptRequested), long(r.PromptTokens), long(r.CachedTokens)
	q.OutputAsked, q.OutputTokens, q.Estimated = int64(r.OutputRequested), int64(r.OutputTokens), r.Estimated
	q.FirstAnswerUs, q.ReasoningTokens, q.ReasoningEstimated, q.ThinkTag = offset(r.FirstAnswer), long(r.ReasoningTokens), r.ReasoningEstimated, r.ThinkTag
	q.Drafts, q.DraftTokens, q.AcceptedTokens = long(r.Drafts), long(r.DraftTokens), long(r.AcceptedTokens)
	q.Outcome, q.Error, q.Status, q.Finish = r.Outcome, r.Error, int32(r.Status), r.Finish
	if u := r.Impossible; u != nil {
		q.ImpossiblePrompt, q.ImpossibleCached, q.ImpossibleOutput = long(u.Prompt), long(u.Cached), long(u.Output)
	}
	if s := r.Server; s != nil {
		q.ServerQueueUs, q.ServerPrefillUs, q.ServerDecodeUs = s.Queue, s.Prefill, s.Decode
	}
}

func unpacked(p record.Packed) (out []int64) {
	for x := range p.All() {
		out = append(out, x)
	}
	return out
}

func offset(m record.Micros) *int64 {
	us, ok := m.Get()
	if !ok {
		return nil
	}
	return &us
}

func long(n *int) *int64 {
	if n == nil {
		return nil
	}
	x := int64(*n)
	return &x
}
