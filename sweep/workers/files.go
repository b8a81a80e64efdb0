package workers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"bench/experiment"
)

// mostFile bounds a file that is fetched, in bytes.
const mostFile = 64 << 30

// local are the files of a leader's rows on this machine, while a session lasts.
type local struct {
	at    map[file]string // their paths
	dir   string          // of those that came from the leader; empty = none did
	files experiment.Files
}

func (l *local) remove() {
	if l.dir != "" {
		_ = os.RemoveAll(l.dir) // another session makes its own
	}
}

// find puts the paths of the files of a row into its spec, and reads them. Those that are not under the same name in
// the working directory come from the leader.
func (s *session) find(ctx context.Context, c *command) error {
	names := map[string]string{}
	for _, f := range c.Files {
		if s.files.at[f] == "" {
			at, err := s.locate(ctx, f)
			if err != nil {
				return fmt.Errorf("fetching %s from the leader: %w", f.Name, err)
			}
			s.files.at[f] = at
		}
		names[f.Name] = s.files.at[f]
	}
	var unlisted []error
	c.Share.Spec.EachFile(func(name *string, _ string) {
		if names[*name] == "" {
			unlisted = append(unlisted, fmt.Errorf("the row names %s, which is not in the leader's list of its files",
				*name))
		}
		*name = names[*name]
	})
	if len(unlisted) > 0 {
		return errors.Join(unlisted...)
	}
	if err := restore(c.Share.Spec, &s.files.files); err != nil {
		return fmt.Errorf("reading the files of the row: %w", err)
	}
	return nil
}

// locate is the path of a file here, which it fetches if it must.
func (s *session) locate(ctx context.Context, f file) (at string, err error) {
	if !isHash(f.SHA256) {
		return "", errors.New("it has no hash")
	}
	if f.isHere() {
		return f.Name, nil
	}
	if s.files.dir == "" {
		if s.files.dir, err = os.MkdirTemp("", "bench-work-"); err != nil {
			return "", err
		}
	}
	s.w.note("fetching %s from the leader", f.Name)
	// endings can tell formats
	at = filepath.Join(s.files.dir, fmt.Sprintf("%d-%s", len(s.files.at), filepath.Base(f.Name)))
	return at, s.fetchFile(ctx, f, at)
}

// isHere reports whether the file is in the working directory. No other file is opened, by a link neither: a leader
// must not learn what a worker's machine has.
func (f *file) isHere() bool {
	root, err := os.OpenRoot(".")
	if err != nil {
		return false
	}
	defer root.Close()
	if info, err := root.Stat(f.Name); err != nil || !info.Mode().IsRegular() { // a pipe would block
		return false
	}
	opened, err := root.Open(f.Name)
	if err != nil {
		return false
	}
	defer opened.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, opened)
	return err == nil && hex.EncodeToString(hash.Sum(nil)) == f.SHA256
}

func (s *session) fetchFile(ctx context.Context, named file, at string) error {
	response, err := s.open(ctx, http.MethodGet, "files/"+named.SHA256, nil, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	out, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, hash), io.LimitReader(response.Body, mostFile+1))
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	switch sum := hex.EncodeToString(hash.Sum(nil)); {
	case n > mostFile:
		return fmt.Errorf("larger than %d GiB", mostFile>>30)
	case sum != named.SHA256:
		return errors.New("it has changed since the leader read it")
	}
	return nil
}

func isHash(text string) bool {
	return len(text) == 2*sha256.Size && strings.Trim(text, "0123456789abcdef") == ""
}
