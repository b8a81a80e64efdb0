package sweep

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps two runs out of one directory. The kernel releases it when the process ends.
func (d directory) lock() (unlock func(), err error) {
	f, err := os.OpenFile(d.file(lockFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the run: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		return nil, fmt.Errorf("another bench is running in %s\n"+
			"hint: wait for it, or start a new run without --resume", d.path)
	}
	// Some file systems have no locks.
	if err != nil && !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.ENOLCK) {
		f.Close()
		return nil, fmt.Errorf("locking the run: %w", err)
	}
	return func() { f.Close() }, nil
}
