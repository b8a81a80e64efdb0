package experiment

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"bench/experiment/telemetry"
)

// What readers of a row need of its telemetry, without knowing who took it.
type (
	Sample    = telemetry.Sample
	Gauge     = telemetry.Gauge
	GPUDevice = telemetry.GPUDevice
)

// ReadSamples calls each for every sample of a row's telemetry, in the order of the file. A stream cut by a kill gives the
// samples before the cut, then an error that wraps io.ErrUnexpectedEOF.
func ReadSamples(r io.Reader, each func(*Sample) error) error {
	z, err := zstd.NewReader(bufio.NewReader(r), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(widestWindow))
	if err != nil {
		return fmt.Errorf("opening the telemetry stream: %w", err)
	}
	defer z.Close()
	text := &allowance{r: z}
	d := json.NewDecoder(text)
	for line := 1; ; line++ {
		text.left = longestRecord
		var s Sample
		err := d.Decode(&s)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading telemetry sample %d: %w", line, err)
		}
		if err := each(&s); err != nil {
			return err
		}
	}
}
