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

func (e *evidence) Requests() []*record.Record { return e.records }

func (e *evidence) Add(records ...*record.Record) { e.records = append(e.records, records...) }
