package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openUnblocked opens a file to be read. Of a pipe that nobody writes to yet it does not wait for one who does: the wait would
// obey nobody.
func openUnblocked(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

// awaitWriter waits until there is something to read, or somebody has been there: before, a pipe reads as one that has ended.
// The file's deadline ends it.
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
