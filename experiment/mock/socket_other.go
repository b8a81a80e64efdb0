//go:build !linux

package mock

import (
	"errors"
	"time"
)

const canAttempt = false

func writeOnce(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func disablePacing(uintptr) {}

func monotonicAt(time.Time) int64 { return 0 }
