package record

import (
	"bufio"
	"fmt"
	"io"

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
	lines, err := openLines(bufio.NewReader(r))
	if err != nil {
		return fmt.Errorf("opening the telemetry stream: %w", err)
	}
	defer lines.close()
	for n := 1; ; n++ {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		var s Sample
		if err == nil {
			err = decodeLine(line, &s)
		}
		if err != nil {
			return fmt.Errorf("reading telemetry sample %d: %w", n, err)
		}
		if err := each(&s); err != nil {
			return err
		}
	}
}
