package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// recorded reads a recording of live traffic (package recording): lines in order of their ends, with what each request
// measured. The process that wrote it may have been killed: what comes behind its last whole line is dropped.
type recorded struct {
	*jsonl
	blockBytes     int // of a prompt's text in a block
	tokenBytes     float64
	groups         groups[int]
	bytes, counted float64 // of prompts with both
	estimated      int     // prompts without a token count
	hashed         bool    // a prompt with blocks
}

type recordedRow struct {
	row
	Bytes   int             `json:"prompt_bytes"`
	Media   int             `json:"media_parts"`
	Counts  json.RawMessage `json:"counts"`
	Request struct {
		Outcome      string `json:"outcome"`
		Begin        int64  `json:"at_us"`
		End          *int64 `json:"end_us"`
		PromptTokens *int   `json:"prompt_tokens"`
	} `json:"request"`
}

func newRecorded(j *jsonl, h *header, o Options) (*recorded, error) {
	if h.BlockBytes < 0 || h.BlockBytes > maxBlockTokens*maxTextBytes {
		return nil, fmt.Errorf("block_bytes %d is not between 0 and %d", h.BlockBytes, maxBlockTokens*maxTextBytes)
	}
	return &recorded{jsonl: j, blockBytes: h.BlockBytes, tokenBytes: cmp.Or(o.BytesPerToken, defaultTextBytes)}, nil
}

// scannedRecording is scanned for a recording, whose prompts may lack token counts, and whose requests need not
// belong to sessions.
func (r *Reader) scannedRecording(from *recorded) error {
	if err := r.scanned(from); err != nil {
		return err
	}
	r.stored.perByte, r.stored.alone = 1/from.tokenBytes, true
	return nil
}

func (r *recorded) scan(add func(*call) error, counts *Counts) (Info, error) {
	for {
		line, err := r.Lines.Next()
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return r.summary(), nil
		}
		if err != nil {
			return Info{}, err
		}
		open := r.Open
		var x recordedRow
		if err := decode(line, &x); err != nil {
			if open { // the kill cut it
				return r.summary(), nil
			}
			return Info{}, fmt.Errorf("not a line of a recording: %w", err)
		}
		if x.Counts != nil && x.Input == nil {
			continue
		}
		counts.Read++
		c, err := r.call(&x, counts)
		if err == nil && c != nil {
			counts.Read--
			err = add(c)
		}
		if err != nil {
			return Info{}, err
		}
	}
}

// call is the request of a line; nil = it was skipped.
func (r *recorded) call(x *recordedRow, counts *Counts) (*call, error) {
	ok := x.Request.Outcome == "ok" || x.Request.Outcome == "short"
	switch {
	case x.Input == nil || x.Output == nil:
		return nil, errors.New("input_length or output_length is missing")
	case *x.Input < 0 || *x.Output < 0 || *x.Input > maxTokens || *x.Output > maxTokens:
		return nil, fmt.Errorf("input_length %d or output_length %d is not between 0 and %d", *x.Input, *x.Output,
			maxTokens)
	case x.Session < 0 || x.Turn < 0:
		return nil, errors.New("session and turn count from 1")
	case x.Bytes < 0 || x.HashIDs != nil && r.blockBytes == 0:
		return nil, errors.New("hash_ids in a recording whose header has no block_bytes, or negative prompt_bytes")
	case *x.Output == 0 && x.Request.Outcome == "": // its answer was encoded, or too large
		counts.Uncounted++
		return nil, nil
	case *x.Output == 0 && !ok:
		counts.Failed++
		return nil, nil
	case *x.Output == 0 || *x.Input == 0:
		counts.Empty++
		return nil, nil
	}
	c := &call{Entry: Entry{Line: r.Number, Input: *x.Input, Output: *x.Output, Blocks: x.HashIDs, Class: x.Class}}
	var err error
	if c.At, err = r.time(string(x.Timestamp)); err != nil {
		return nil, err
	}
	if end := x.Request.End; end != nil && *end > x.Request.Begin && *end < math.MaxInt64/int64(time.Microsecond) {
		c.took = time.Duration(max(0, *end-x.Request.Begin)) * time.Microsecond
	}
	if x.Session > 0 {
		c.Turn = max(x.Turn, 1) // 0 = not in a session
	}
	c.Session = r.groups.of(x.Session)
	r.calibrate(x, c)
	return c, nil
}

// calibrate notes how many tokens the bytes of a prompt have. Images have tokens and no bytes.
func (r *recorded) calibrate(x *recordedRow, c *call) {
	r.hashed = r.hashed || c.Blocks != nil
	n := len(c.Blocks)
	if x.Bytes == 0 && n > 0 {
		x.Bytes = n*r.blockBytes - r.blockBytes/2 // the last block is half full on average
	}
	switch {
	case x.Request.PromptTokens == nil:
		r.estimated++
		c.bytes = x.Bytes
	case x.Media == 0 && n > 0:
		r.bytes, r.counted = r.bytes+float64(x.Bytes), r.counted+float64(c.Input)
	}
}

// summary describes the file, once all its prompts are known.
func (r *recorded) summary() Info {
	i := r.what
	i.Ends, i.Estimated, i.Lacking = true, r.estimated > 0, r.estimated
	if r.counted > 0 {
		r.tokenBytes = r.bytes / r.counted
	}
	if r.hashed {
		i.BlockTokens = int(min(max(math.Round(float64(r.blockBytes)/r.tokenBytes), 1), maxBlockTokens))
	}
	return i
}
