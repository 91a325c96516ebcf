package cri

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// filesystem is what a container's programs see: the image's files in a folder
// of its own, and the kubelet's mounts over it. Nothing outside can be reached:
// each access goes through an os.Root.
type filesystem struct {
	dir    string
	mounts []*runtimeapi.Mount // longest container path first
}

func newFilesystem(dir string, files map[string]string, mounts []*runtimeapi.Mount) (*filesystem, error) {
	f := &filesystem{dir: dir, mounts: slices.Clone(mounts)}
	slices.SortFunc(f.mounts, func(a, b *runtimeapi.Mount) int { return len(b.GetContainerPath()) - len(a.GetContainerPath()) })
	for _, d := range []string{"", "tmp", "etc", "root", "var", "bin", "usr/bin", "proc", "dev"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for name, text := range files {
		name = strings.TrimPrefix(path.Clean("/"+name), "/")
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return nil, fmt.Errorf("image file %s: %w", name, err)
		}
		if err := root.WriteFile(name, []byte(text), 0o644); err != nil {
			return nil, fmt.Errorf("image file %s: %w", name, err)
		}
	}
	return f, nil
}

// place is where a path of the container really is.
type place struct {
	root     *os.Root
	name     string
	readOnly bool
}

func (f *filesystem) locate(name string) (place, error) {
	name = path.Clean("/" + name)
	for _, m := range f.mounts {
		at := path.Clean("/" + m.GetContainerPath())
		if name != at && !strings.HasPrefix(name, strings.TrimSuffix(at, "/")+"/") {
			continue
		}
		host, rest := m.GetHostPath(), strings.TrimPrefix(strings.TrimPrefix(name, at), "/")
		info, err := os.Stat(host)
		if err != nil {
			return place{}, fs.ErrNotExist
		}
		if !info.IsDir() {
			host, rest = filepath.Dir(host), filepath.Base(host)
		}
		return openPlace(host, rest, m.GetReadonly())
	}
	return openPlace(f.dir, strings.TrimPrefix(name, "/"), false)
}

func openPlace(dir, name string, readOnly bool) (place, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return place{}, fs.ErrNotExist
	}
	if name == "" {
		name = "."
	}
	return place{root, name, readOnly}, nil
}

var errReadOnly = errors.New("read-only file system")

func (f *filesystem) open(name string, flag int, perm os.FileMode) (*os.File, error) {
	p, err := f.locate(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	defer p.root.Close()
	if p.readOnly && flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) != 0 {
		return nil, pathError("open", name, errReadOnly)
	}
	file, err := p.root.OpenFile(p.name, flag, perm)
	return file, pathError("open", name, err)
}

func (f *filesystem) stat(name string) (fs.FileInfo, error) {
	p, err := f.locate(name)
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	defer p.root.Close()
	info, err := p.root.Stat(p.name)
	return info, pathError("stat", name, err)
}

// readDir lists a folder together with the mount points in it.
func (f *filesystem) readDir(name string) ([]fs.DirEntry, error) {
	file, err := f.open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	entries, err := file.ReadDir(-1)
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	for _, m := range f.mounts {
		at := path.Clean("/" + m.GetContainerPath())
		if path.Dir(at) != path.Clean("/"+name) {
			continue
		}
		if info, err := f.stat(at); err == nil {
			entries = append(entries, namedEntry{fs.FileInfoToDirEntry(info), path.Base(at)})
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return slices.CompactFunc(entries, func(a, b fs.DirEntry) bool { return a.Name() == b.Name() }), nil
}

type namedEntry struct {
	fs.DirEntry
	name string
}

func (e namedEntry) Name() string { return e.name }

func (f *filesystem) readFile(name string) ([]byte, error) {
	file, err := f.open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, pathError("read", name, errors.New("is a directory"))
	}
	data := make([]byte, info.Size())
	n, err := file.Read(data)
	if n == 0 && info.Size() == 0 {
		return nil, nil
	}
	return data[:n], err
}

// change runs an operation that writes, such as mkdir or rm.
func (f *filesystem) change(op, name string, do func(root *os.Root, name string) error) error {
	p, err := f.locate(name)
	if err != nil {
		return pathError(op, name, err)
	}
	defer p.root.Close()
	if p.readOnly {
		return pathError(op, name, errReadOnly)
	}
	return pathError(op, name, do(p.root, p.name))
}

// pathError shows the path of the container, never the one on the host.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
