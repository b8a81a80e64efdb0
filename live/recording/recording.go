// Package recording is the file of recorded live traffic: a trace (bench/trace/v1) whose lines also have what each
// request measured, and what its copy to a candidate server measured.
//
// Writer writes it while the traffic passes: a header, a line for each request in order of their ends, and now and
// then the counts. Read reads it, also if its end is missing because the process was killed. Package trace reads the
// same file as a trace. The file has no text, no key, no header and no address: prompts are hashes under a key that
// only existed in the memory of the recording process.
package recording

import (
	"encoding/json"
	"time"

	"bench/experiment/record"
)

const Schema = "bench/trace/v1"

// Header is the first line.
type Header struct {
	Schema   string `json:"schema"`
	TimeUnit string `json:"time_unit"` // ms
	// bytes of a prompt's text in a block; readers derive its tokens from all prompts
	BlockBytes int      `json:"block_bytes"`
	Recorded   Recorded `json:"recorded"`
}

// Recorded is how a recording was made.
type Recorded struct {
	StartedAt time.Time `json:"started_at"`
	Bench     string    `json:"bench"`            // version of bench
	Shadow    *Shadow   `json:"shadow,omitempty"` // absent = no candidate
}

// Shadow is how requests were copied to a candidate.
type Shadow struct {
	Share   float64 `json:"share"`    // of the conversations, 0 to 1
	WarmupS float64 `json:"warmup_s"` // since the first copy: requests that are not compared
}

// Exchange is one request and its answer: one line, written when the answer and the answer of its copy have ended.
type Exchange struct {
	Timestamp json.Number `json:"timestamp"` // arrival at the proxy, ms since the start
	Input     int         `json:"input_length"`
	Output    int         `json:"output_length"`          // 0: the request failed
	Bytes     int         `json:"prompt_bytes,omitempty"` // of the prompt's text; absent = not known
	Media     int         `json:"media_parts,omitempty"`  // images and other parts of the prompt that are not text
	HashIDs   []uint64    `json:"hash_ids,omitempty"`
	Session   int         `json:"session,omitempty"` // from 1; absent = not known
	Turn      int         `json:"turn,omitempty"`    // from 1
	Class     string      `json:"class,omitempty"`   // model: numbered, unless its name is kept

	// time in which the caller took no bytes: its answer was read late
	BlockedUs int64 `json:"client_blocked_us,omitempty"`
	// times since the recording's start; without an outcome the answer was not read
	Request record.Record  `json:"request"`
	Shadow  *record.Record `json:"shadow,omitempty"` // of the copy; absent = not copied
}

// Counts is what a recording lacks, since its start. A line {"counts": …} has them; the last one counts.
type Counts struct {
	EndedAt    *time.Time `json:"ended_at,omitempty"` // absent = not the last one, or the process was killed
	Requests   int        `json:"requests"`           // to an API that writes, recorded or not
	Other      int        `json:"other"`              // requests to other paths, passed on only
	Unrecorded int        `json:"unrecorded"`         // the disk was full, or the recorder was behind
	// recorded without hash_ids: the body was too large, or unreadable
	Unhashed    int     `json:"unhashed"`
	Unreadable  int     `json:"unreadable"`  // answers in an encoding that is not read
	Refused     int     `json:"refused"`     // by a limit of the proxy
	Unreachable int     `json:"unreachable"` // the server could not be reached
	Shadow      *Copies `json:"shadow,omitempty"`
}

// Copies counts the requests for the candidate.
type Copies struct {
	Sent   int `json:"sent"`             // in flight, cut, or answered
	Failed int `json:"failed,omitempty"` // the candidate failed
	Cut    int `json:"cut,omitempty"`    // in flight when copying was stopped, or at the end
	Unread int `json:"unread,omitempty"` // the answer has an encoding that is not read, or is too large
	// the queue was full, or an earlier turn of the conversation is missing at the candidate
	Dropped  int    `json:"dropped"`
	Stateful int    `json:"stateful,omitempty"` // not copied: the request continues what only the primary has stored
	Stopped  string `json:"stopped"`            // why copying ended: errors, decided, operator; empty = it did not
	AtUs     int64  `json:"stopped_at_us"`      // since the start; 0 = it did not end
	FirstUs  int64  `json:"first_copy_us"`      // since the start: the warm-up begins
	Queued   int    `json:"queue_max"`          // most copies that waited at once
}
