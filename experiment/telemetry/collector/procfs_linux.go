package collector

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// procfs are the files of /proc. stat stays open: opening a file is half the cost of reading it.
type procfs struct {
	root string
	stat *os.File // nil: it does not exist
	buf  []byte
}

func openProcfs(root string) procfs {
	stat, _ := os.Open(filepath.Join(root, "stat"))
	return procfs{root: root, stat: stat, buf: make([]byte, 0, 16<<10)}
}

func (f *procfs) close() { _ = f.stat.Close() }

func (f *procfs) read(r *reading) {
	r.cores = parseCores(r.cores[:0], f.statText())
	r.delays = f.delays()
}

// statText is the content of stat, valid until the next call; nil: the file does not exist.
func (f *procfs) statText() []byte {
	for {
		n, err := f.stat.ReadAt(f.buf[:cap(f.buf)], 0)
		if n < cap(f.buf) {
			if err != nil && n == 0 {
				return nil
			}
			return f.buf[:n]
		}
		f.buf = make([]byte, 0, 2*cap(f.buf))
	}
}

// delays are the run-queue waits of the process's threads. /proc/self/schedstat covers the main thread only.
func (f *procfs) delays() map[int]time.Duration {
	tasks := filepath.Join(f.root, "self", "task")
	names := namesIn(tasks)
	var out map[int]time.Duration
	for _, name := range names {
		id, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		n := readInto(f.buf[:cap(f.buf)], tasks+"/"+name+"/schedstat")
		if delay, ok := parseDelay(f.buf[:n]); ok { // else the thread has just ended
			if out == nil {
				out = make(map[int]time.Duration, len(names))
			}
			out[id] = delay
		}
	}
	return out
}

// readInto reads a small file, one per thread, with bare system calls: half the cost of os.File.
func readInto(b []byte, name string) int {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, b)
	if err != nil {
		return 0
	}
	return n
}

// descriptors counts the open files: the directory's size since Linux 6.2, which is 0 before.
func (f *procfs) descriptors() *int {
	name := filepath.Join(f.root, "self", "fd")
	info, err := os.Stat(name)
	if err != nil {
		return nil
	}
	if n := int(info.Size()); n > 0 {
		return &n
	}
	names := namesIn(name)
	if names == nil {
		return nil
	}
	return new(len(names))
}

// namesIn are the entries of a directory; nil: it cannot be read.
func namesIn(folder string) []string {
	dir, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	return names
}

func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
