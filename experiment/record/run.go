package record

// Run is what a run left, whichever tool measured it.
type Run struct {
	Manifest Manifest
	Rows     []Row // in plan order, then rows that are not in the plan

	// Records reads the requests of a row; nil: they are files of the run's directory, or there are none.
	Records func(*Row) ([]*Record, error)

	// Definitions are another tool's definitions of metrics (ttft, itl, …); others are as in docs/reading.md.
	Definitions map[string]string

	// WithoutRecords are the ids of rows of a run of bench, still in the matrix, whose file of requests is missing.
	WithoutRecords []string
	Altered        []string // files that were changed after the run, by SHA-256, or cannot be read
}

// RecordsOf is Run.Records for requests in memory, by row id.
func RecordsOf(rows map[string][]*Record) func(*Row) ([]*Record, error) {
	return func(row *Row) ([]*Record, error) { return rows[row.ID], nil }
}
