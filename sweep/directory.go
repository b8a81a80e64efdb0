package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
	"golang.org/x/sys/unix"

	"bench/experiment/record"
)

// partial ends the names of files that are not whole yet. No command reads them.
const partial = ".partial"

const (
	manifestFile  = "run.json"
	lockFile      = ".lock"
	scratchSuffix = ".samples" + partial // samples of a long row while it runs
)

type directory struct {
	path string
	// altered are the IDs of rows that are not what run.json states. Such a row is none: it runs again.
	altered map[string]bool
}

func (d directory) file(name string) string { return filepath.Join(d.path, name) }

// writeJSON writes a file atomically: also after a power cut it is whole or does not exist.
func (d directory) writeJSON(name string, v any) error {
	text, err := record.EncodeFile(v)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	return d.write(name, text)
}

// WriteWhole writes a file atomically: the old file at path, or at the target of a link there, stays until
// the new one is whole. Devices and pipes are written directly.
func WriteWhole(path string, write func(io.Writer) error) error {
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return writeInto(path, write)
	case err == nil:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	default:
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s: the link leads to a missing file\nhint: name the file itself", path)
		}
	}
	return directory{path: filepath.Dir(path)}.stream(filepath.Base(path), write)
}

// writeInto writes to a device or a pipe, which cannot be replaced.
func writeInto(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func (d directory) writeRow(row *record.Row) error {
	delete(d.altered, row.ID)
	return d.writeJSON(row.ID+".json", row)
}

func (d directory) write(name string, data []byte) error {
	return d.stream(name, func(w io.Writer) error {
		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		return nil
	})
}

// stream writes a file atomically. It returns an error of write unchanged.
func (d directory) stream(name string, write func(io.Writer) error) error {
	f, err := os.Create(d.file(name + partial))
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err = write(f); err != nil {
		_ = f.Close()
	} else if err = errors.Join(f.Sync(), f.Close()); err != nil {
		err = fmt.Errorf("writing %s: %w", name, err)
	} else {
		err = d.commit(name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// commit renames a whole and synced partial file to its name.
func (d directory) commit(name string) error {
	if err := os.Rename(d.file(name+partial), d.file(name)); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return d.sync()
}

// sync makes renames durable, where the file system supports it.
func (d directory) sync() error {
	f, err := os.Open(d.path)
	if err != nil {
		return fmt.Errorf("opening %s: %w", d.path, err)
	}
	_ = f.Sync()
	return f.Close()
}

// reserve tests, before a row runs, whether the disk has room for its results.
func (d directory) reserve() error {
	const room = 4 << 20 // more than the summary takes; a disk that fills up with records fails later
	name := d.file("room" + partial)
	defer os.Remove(name)
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("testing the results directory: %w", err)
	}
	_, err = f.Write(make([]byte, room))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("testing the results directory: %w", err)
	}
	return nil
}

// readJSON reads a file of a run. The error of a missing file is fs.ErrNotExist.
func (d directory) readJSON(name string, v any) error {
	b, err := os.ReadFile(d.file(name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("reading %s: %w", d.file(name), err)
	}
	return nil
}

// row reads a finished row. ok is false if it is missing or not whole.
func (d directory) row(id string) (*record.Row, bool) {
	var row record.Row
	if err := d.readJSON(id+".json", &row); err != nil || row.Schema != record.SchemaRow || row.ID != id {
		return nil, false
	}
	if _, err := os.Stat(d.file(id + record.RequestsSuffix)); err != nil {
		return nil, false
	}
	return &row, !d.altered[id]
}

// isAltered reports whether a row or its evidence was changed after the run.
func (d directory) isAltered(p *record.Planned) bool {
	row, ok := d.row(p.ID)
	if !ok || p.SHA256 == "" {
		return false
	}
	return p.SHA256 != d.sum(p.ID) || len(row.AlteredEvidence(os.DirFS(d.path))) > 0
}

func (d directory) requests(row *record.Row) (out []*record.Record, err error) {
	f, err := os.Open(d.file(row.ID + record.RequestsSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading requests: %w", err)
	}
	defer f.Close()
	err = row.ReadRequests(f, true, func(r *record.Record) error {
		out = append(out, r)
		return nil
	})
	return out, err
}

// sum is the SHA-256 of the file of a row; empty = there is none.
func (d directory) sum(id string) string {
	text, err := os.ReadFile(d.file(id + ".json"))
	if err != nil {
		return ""
	}
	return record.Sum(text)
}

func (d directory) rowIDs() ([]string, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("reading the run: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && e.Name() != manifestFile {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// eachRow calls do for every finished row.
func (d directory) eachRow(do func(*record.Row) error) error {
	ids, err := d.rowIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if row, ok := d.row(id); ok {
			if err := do(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// setAside moves rows into a subdirectory, which no report reads.
func (d directory) setAside(into string, which func(id string) bool) error {
	ids, err := d.rowIDs()
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := os.MkdirAll(d.file(into), 0o755); err != nil {
		return fmt.Errorf("moving rows aside: %w", err)
	}
	for _, id := range ids {
		if !which(id) {
			continue
		}
		// The summary moves last: until then a repeated setAside finds the row again.
		for _, name := range []string{id + record.RequestsSuffix, id + record.TelemetrySuffix, id + ".json"} {
			err := os.Rename(d.file(name), filepath.Join(d.file(into), name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("moving rows aside: %w", err)
			}
		}
	}
	return d.sync()
}

// replace makes room for the result of a row that runs again: the old one is set aside.
func (d directory) replace(id, aside string) error {
	if _, there := d.row(id); there {
		return d.setAside(aside, func(row string) bool { return row == id })
	}
	if err := os.Remove(d.file(id + ".json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replacing %s: %w", id, err)
	}
	return nil
}

// discard removes a directory in which no row began.
func (d directory) discard() {
	for _, name := range []string{lockFile, manifestFile + partial} {
		_ = os.Remove(d.file(name))
	}
	_ = os.Remove(d.path) // fails if it has other files
}

type lines interface {
	io.Closer
	Lines() int
}

type stream[W lines] struct {
	dir  directory
	name string
	f    *os.File
	sum  hash.Hash // of what is in f
	w    W
	over bool // w is closed
}

// begin starts a stream of a row. It overwrites the partial file of an earlier attempt.
func begin[W lines](d directory, name string, writer func(io.Writer) (W, error)) (*stream[W], error) {
	f, err := os.Create(d.file(name + partial))
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", name, err)
	}
	sum := sha256.New()
	w, err := writer(io.MultiWriter(f, sum))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &stream[W]{dir: d, name: name, f: f, sum: sum, w: w}, nil
}

func (s *stream[W]) stored() record.Stored {
	return record.Stored{SHA256: hex.EncodeToString(s.sum.Sum(nil)), Lines: s.w.Lines()}
}

// end flushes the lines. The file stays open.
func (s *stream[W]) end() error {
	if s.over {
		return nil
	}
	s.over = true
	if err := s.w.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", s.name, err)
	}
	return nil
}

func (s *stream[W]) finish() error {
	if err := errors.Join(s.end(), s.f.Sync(), s.f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", s.name, err)
	}
	return s.dir.commit(s.name)
}

func (s *stream[W]) abandon() { _ = errors.Join(s.end(), s.f.Close()) }

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

// Client describes this machine. What the system does not report stays empty.
func Client(version, commit string) record.ClientInfo {
	c := record.ClientInfo{
		Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH,
		Cores: runtime.NumCPU(), MaxProcs: runtime.GOMAXPROCS(0),
	}
	c.Host, _ = os.Hostname()
	if kernel, err := host.KernelVersion(); err == nil {
		c.Kernel = kernel
	}
	if info, err := cpu.Info(); err == nil && len(info) > 0 {
		c.CPU = info[0].ModelName
	}
	if m, err := mem.VirtualMemory(); err == nil {
		c.MemoryGiB = math.Round(float64(m.Total)/(1<<30)*10) / 10
	}
	return c
}
