package prompts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Regular describes a regular file, which can be read more than once. It does not open it, since opening a pipe waits
// for a writer.
func Regular(name string) (fs.FileInfo, error) {
	info, err := os.Stat(name)
	var call *fs.PathError
	switch {
	case errors.As(err, &call):
		return nil, fmt.Errorf("%s: %w", name, call.Err)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	}
	return info, nil
}
