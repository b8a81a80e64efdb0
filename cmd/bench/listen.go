package main

import (
	"errors"
	"fmt"
	"syscall"
)

// listenError is the error of a flag whose address cannot be listened on: of usage (exit code 2), unless the machine
// refuses the address now, and another time or with another user may not.
func listenError(flag, example string, err error) error {
	code := codeUsage
	for _, refused := range []error{syscall.EADDRINUSE, syscall.EACCES, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, refused) {
			code = codeFailed
		}
	}
	return &exitError{code, fmt.Errorf("%s: %w\nhint: choose another address with %s %s", flag, err, flag, example)}
}
