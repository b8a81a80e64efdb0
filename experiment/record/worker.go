package record

import (
	"slices"
	"strings"

	"bench/experiment/selftest"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

func (r *Row) Clients() (out []*telemetry.Usage) {
	if r.Client != nil {
		out = append(out, r.Client)
	}
	for _, w := range r.Workers {
		if w.Client != nil {
			out = append(out, w.Client)
		}
	}
	return out
}

func LoadWorkers(rows []Row) string {
	var values []string
	for i := range rows {
		if v := rows[i].LoadWorkers(); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return strings.Join(values, ", ")
}

func ByWorkers(rows []Row) bool {
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(r Row) bool { return len(r.Workers) == 0 })
}

func (r *Row) LoadWorkers() string {
	if len(r.Workers) == 0 {
		return "none"
	}
	hosts := map[string]bool{}
	for _, w := range r.Workers {
		hosts[w.Host] = true
	}
	return unit.Count(len(r.Workers)) + " on " + unit.Plural(len(hosts), "host")
}

// Worker is one of several load workers of a row: a process of bench work, which sent a part of its requests. Their
// times count from the start that all workers have in common.
type Worker struct {
	Worker      int    `json:"worker"` // its number, from 0
	Host        string `json:"host"`   // name of its machine
	Concurrency int    `json:"concurrency,omitempty"`
	Sent        int    `json:"sent"` // requests
	MaxInFlight int    `json:"max_in_flight"`

	// StartSkewUs bounds how far its zero lies from the leader's: half of RTTUs, the least round trip between the two.
	StartSkewUs int64 `json:"start_skew_us"`
	RTTUs       int64 `json:"rtt_us"`
	StartLateUs int64 `json:"start_late_us"` // from the common start until it was ready to send; 0 = in time

	// Of its completed requests of the window; absent = none.
	LagP99  *float64 `json:"lag_p99_ms,omitempty"`            // client lag
	TTFTP50 *float64 `json:"ttft_from_send_p50_ms,omitempty"` // absent without streaming, too

	Clock       Clock            `json:"clock"`
	Connections Connections      `json:"connections,omitzero"`
	Client      *telemetry.Usage `json:"client,omitempty"`   // its machine in the window; absent = no sample
	Load        telemetry.Host   `json:"load,omitzero"`      // of its machine, before and after
	Selftest    *selftest.Result `json:"selftest,omitempty"` // of its machine; absent = none
}
