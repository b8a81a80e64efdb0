package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openUnblocked opens a file for reading. It does not wait for the writer of a pipe: no context could end
// that wait.
func openUnblocked(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

// awaitWriter waits until there is something to read or a writer has closed: before that a pipe reads as
// ended. The file's deadline ends the wait.
func awaitWriter(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			if err == unix.EINTR {
				continue
			}
			failed = err
			return err != nil || n > 0
		}
	})
	return errors.Join(err, failed)
}
