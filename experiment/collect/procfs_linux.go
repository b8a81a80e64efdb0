package collect

import (
	"os"
	"path/filepath"
	"slices"
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

func (f *procfs) read(r *reading, server *ServerProcesses) {
	r.cores = parseCores(r.cores[:0], f.statText())
	r.delays = nil
	f.eachThread("self", func(id int, _, delay time.Duration) { set(&r.delays, id, delay) })
	r.pressure = parsePressure(f.small(filepath.Join(f.root, "pressure/cpu")))
	if r.server = nil; server == nil {
		return
	}
	r.server = &serverReading{}
	for _, pid := range server.group {
		family := slices.Contains(server.family, pid)
		f.eachThread(strconv.Itoa(pid), func(id int, cpu, delay time.Duration) {
			if set(&r.server.delays, id, delay); family {
				set(&r.server.cpu, id, cpu)
			}
		})
	}
	if server.pressure != "" {
		r.server.pressure = parsePressure(f.small(server.pressure))
	}
}

func set(m *map[int]time.Duration, id int, x time.Duration) {
	if *m == nil {
		*m = map[int]time.Duration{}
	}
	(*m)[id] = x
}

// small is the content of a small file, valid until the next call; empty: it cannot be read.
func (f *procfs) small(name string) []byte { return f.buf[:readInto(f.buf[:cap(f.buf)], name)] }

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

// eachThread calls each with the time on a core and the run-queue wait of each thread of a process.
// /proc/<pid>/schedstat covers the main thread only.
func (f *procfs) eachThread(pid string, each func(id int, cpu, delay time.Duration)) {
	tasks := filepath.Join(f.root, pid, "task")
	for _, name := range namesIn(tasks) {
		id, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		// not ok: the thread has just ended
		if cpu, delay, ok := parseSchedstat(f.small(tasks + "/" + name + "/schedstat")); ok {
			each(id, cpu, delay)
		}
	}
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
