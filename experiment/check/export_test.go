package check

import "bench/experiment/record"

// What the tests of verdicts take from those of the checks.
type Evidence = evidence

var (
	Flawless, Shared, OnWorkers, WarmRow = flawless, shared, onWorkers, warmRow
	SentRow, SlowClient, SteadyRow       = sentRow, slowClient, steadyRow
	Crowd, WaitsFor, Tested, Only        = crowd, waitsFor, tested, only
	FailedRequest                        = failedRequest
)

// EachWarmRow is each row of TestWarmPrefix.
func EachWarmRow(do func(name string, e *Evidence)) {
	for name, c := range warmCases() {
		do(name, warmRow(c.prefix, c.change))
	}
}

func (e *evidence) Requests() []*record.Record { return e.records }

func (e *evidence) Add(records ...*record.Record) { e.records = append(e.records, records...) }
