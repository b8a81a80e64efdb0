package record

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/telemetry"
)

func sampleFile(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := telemetry.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := w.Write(&Sample{Source: telemetry.SourceClient, TUs: int64(i) * 250_000, InFlight: new(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadSamples(t *testing.T) {
	var got []int64
	err := ReadSamples(bytes.NewReader(sampleFile(t, 3)), func(s *Sample) error {
		got = append(got, s.TUs)
		return nil
	})
	if diff := cmp.Diff([]int64{0, 250_000, 500_000}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestReadSamplesCut(t *testing.T) {
	whole := sampleFile(t, 500)
	err := ReadSamples(bytes.NewReader(whole[:len(whole)-20]), func(*Sample) error { return nil })
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut file gives %v", err)
	}
	stop := errors.New("enough")
	if err := ReadSamples(bytes.NewReader(whole), func(*Sample) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the caller's error is %v", err)
	}
}
