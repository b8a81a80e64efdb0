package export

import (
	"fmt"
	"io"

	parquet "github.com/parquet-go/parquet-go"

	"bench/experiment/record"
	"bench/report"
)

// Request is one line of the Parquet file: a request with its row. Times are in µs from the start of the row;
// null: did not happen.
type Request struct {
	Run          string  `parquet:"run,dict"`
	Row          string  `parquet:"row,dict"`
	Point        string  `parquet:"point,dict"`
	Repeat       int32   `parquet:"repeat"`
	I            int64   `parquet:"i"`
	Class        string  `parquet:"class,dict"`
	Phase        string  `parquet:"phase,dict"`
	AtUs         *int64  `parquet:"at_us,optional"`
	ReadyUs      *int64  `parquet:"ready_us,optional"`
	SentUs       *int64  `parquet:"sent_us,optional"`
	FirstEventUs *int64  `parquet:"first_event_us,optional"`
	FirstUs      *int64  `parquet:"first_us,optional"`
	LastUs       *int64  `parquet:"last_us,optional"`
	EndUs        *int64  `parquet:"end_us,optional"`
	GapsUs       []int64 `parquet:"gaps_us,list"`
	PromptAsked  int64   `parquet:"prompt_asked"`
	PromptTokens *int64  `parquet:"prompt_tokens,optional"`
	CachedTokens *int64  `parquet:"cached_tokens,optional"`
	OutputAsked  int64   `parquet:"output_asked"`
	OutputTokens int64   `parquet:"output_tokens"`
	Estimated    bool    `parquet:"estimated"`
	Outcome      string  `parquet:"outcome,dict"`
	Error        string  `parquet:"error"`
	Status       int32   `parquet:"status"`
	Finish       string  `parquet:"finish,dict"`
}

// Parquet writes every request of every live row, warm-up and cool-down included, with its phase.
func Parquet(w io.Writer, run *report.Run) error {
	out := parquet.NewGenericWriter[Request](w, parquet.Compression(&parquet.Zstd))
	rows := run.Live()
	for i := range rows {
		row := &rows[i]
		records, err := requests(run, row)
		if err != nil {
			return err
		}
		lines := make([]Request, len(records))
		for k, r := range records {
			lines[k] = request(run, row, r)
		}
		if _, err := out.Write(lines); err != nil {
			return fmt.Errorf("writing Parquet: %w", err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("writing Parquet: %w", err)
	}
	return nil
}

func request(run *report.Run, row *record.Row, r *record.Record) Request {
	q := Request{Run: run.Manifest.Run, Row: row.ID, Point: row.Spec.Label(), Repeat: int32(row.Spec.Repeat), I: int64(r.I), Class: r.Class, Phase: r.Phase,
		AtUs: offset(r.Arrival), ReadyUs: offset(r.Ready), SentUs: offset(r.Sent), FirstEventUs: offset(r.FirstEvent), FirstUs: offset(r.First),
		LastUs: offset(r.Last), EndUs: offset(r.End), PromptAsked: int64(r.PromptRequested), PromptTokens: long(r.PromptTokens), CachedTokens: long(r.CachedTokens),
		OutputAsked: int64(r.OutputRequested), OutputTokens: int64(r.OutputTokens), Estimated: r.Estimated, Outcome: r.Outcome, Error: r.Error,
		Status: int32(r.Status), Finish: r.Finish}
	for us := range r.Gaps.All() {
		q.GapsUs = append(q.GapsUs, us)
	}
	return q
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
