//go:build !linux

package mock

import "errors"

const canAttempt = false

func writeOnce(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func disablePacing(uintptr) {}
