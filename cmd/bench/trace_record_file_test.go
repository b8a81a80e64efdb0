package main

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"testing"

	fixture "bench/internal/fixturetest"
	"bench/live/recording"
)

// fullAfter is a disk that is full after n bytes.
type fullAfter struct {
	n      int
	closed bool
}

func (f *fullAfter) Write(b []byte) (int, error) {
	if f.n -= len(b); f.n < 0 {
		return 0, fixture.ErrFull
	}
	return len(b), nil
}

func (f *fullAfter) Close() error {
	f.closed = true
	return nil
}

// TestRecordingStops: at the first error of the disk, whenever it comes, the recording stops, says so once and counts
// what it does not have; writing goes on without an error or a wait.
func TestRecordingStops(t *testing.T) {
	for _, zstd := range []bool{false, true} {
		for _, room := range []int{0, 300, 2000} {
			disk := &fullAfter{n: room}
			var note bytes.Buffer
			f := &recordingFile{name: "x", note: &note, file: disk, room: bufio.NewWriterSize(disk, 1000)}
			var err error
			if f.out, err = recording.NewWriter(f.room, recording.Header{BlockBytes: 256}, zstd); err != nil {
				t.Fatal(err)
			}
			const n = 500
			for i := range n {
				x := &recording.Exchange{Timestamp: "1.000", Request: *fixture.OKRequest(int64(i), 10, 20)}
				x.HashIDs = []uint64{uint64(i) * 0x9e3779b97f4a7c15 >> 11}
				f.write(x)
				if i%10 == 9 {
					f.flush(nil)
				}
			}
			err = f.close(recording.Counts{})
			if !errors.Is(err, fixture.ErrFull) || !disk.closed || strings.Count(note.String(), "recording stopped") != 1 {
				t.Errorf("zstd %v, room for %d: %v, closed %v: %s", zstd, room, err, disk.closed, note.String())
			}
			if f.written()+f.unwritten() != n || f.written() >= n || room == 0 && f.written() > 0 {
				t.Errorf("zstd %v, room for %d: %d written, %d not", zstd, room, f.written(), f.unwritten())
			}
		}
	}
}
