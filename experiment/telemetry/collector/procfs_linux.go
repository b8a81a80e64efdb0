package collector

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// procfs are the files of /proc. keptOpen stay open: opening a file is half the cost of reading it.
type procfs struct {
	root string
	open map[string]*os.File
	buf  []byte
}

var keptOpen = []string{"stat"}

func openProcfs(root string) procfs {
	f := procfs{root: root, open: map[string]*os.File{}, buf: make([]byte, 0, 16<<10)}
	for _, name := range keptOpen {
		if file, err := os.Open(filepath.Join(root, name)); err == nil {
			f.open[name] = file
		}
	}
	return f
}

func (f *procfs) close() {
	for _, file := range f.open {
		_ = file.Close()
	}
}

func (f *procfs) read(r *reading) {
	r.cores = parseCores(r.cores[:0], f.text("stat"))
	r.delays = f.delays()
}

// text is the content of an open file, valid until the next call; nil: the file does not exist.
func (f *procfs) text(name string) []byte {
	file := f.open[name]
	if file == nil {
		return nil
	}
	for {
		n, err := file.ReadAt(f.buf[:cap(f.buf)], 0)
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
	dir, err := os.Open(tasks)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
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

// readInto reads a small file with bare system calls, at half the cost of os.File: there is one file per
// thread.
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

// descriptors counts the open files: the size of the directory since Linux 6.2, which is 0 before; then the
// entries are counted.
func (f *procfs) descriptors() *int {
	name := filepath.Join(f.root, "self", "fd")
	info, err := os.Stat(name)
	if err != nil {
		return nil
	}
	if n := int(info.Size()); n > 0 {
		return &n
	}
	dir, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	return new(len(names))
}

func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
