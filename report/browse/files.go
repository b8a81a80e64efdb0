package browse

import "io/fs"

// rootFiles are those of an os.Root, which refuses symbolic links that lead out.
type rootFiles interface {
	fs.ReadDirFS
	fs.StatFS
}

// below refuses devices and pipes too, which block their reader.
type below struct{ rootFiles }

func (b below) Open(name string) (fs.File, error) {
	info, err := b.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return b.rootFiles.Open(name)
}
