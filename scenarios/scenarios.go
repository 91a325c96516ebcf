// Package scenarios owns the embedded library of labs.
//
// Every file in it is checked whole when the library is loaded, so a scenario
// that can be found can be run. A Registry is immutable and safe for concurrent
// use.
package scenarios

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"

	"labbot/scenarios/engine"
)

//go:embed library
var files embed.FS

// fileName is what a scenario's file is called in the folder of its name.
const fileName = "scenario.yaml"

// Files is the embedded library as NAME/scenario.yaml.
func Files() fs.FS {
	sub, err := fs.Sub(files, "library")
	if err != nil {
		panic(err) // a broken constant: the folder is embedded
	}
	return sub
}

// Registry is a set of scenarios by name.
type Registry struct {
	byName map[string]*engine.Program
}

var library = sync.OnceValues(func() (*Registry, error) { return Load(Files()) })

// Library is the embedded library, loaded once.
func Library() (*Registry, error) { return library() }

// Load reads NAME/scenario.yaml from every file system given; a later one
// replaces a scenario of the same name. With an error the Registry holds the
// scenarios that are good, so that one bad file does not take the others away.
// The error joins one *engine.LoadError for each bad file.
func Load(fsys ...fs.FS) (*Registry, error) {
	r := &Registry{byName: map[string]*engine.Program{}}
	var errs []error
	for _, f := range fsys {
		found, err := fs.Glob(f, "*/"+fileName)
		if err != nil {
			return nil, fmt.Errorf("look for scenarios: %w", err)
		}
		for _, file := range found {
			p, err := loadFile(f, file)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			r.byName[p.Name()] = p
		}
	}
	return r, errors.Join(errs...)
}

func loadFile(f fs.FS, file string) (*engine.Program, error) {
	raw, err := fs.ReadFile(f, file)
	if err != nil {
		return nil, fmt.Errorf("read scenario %s: %w", file, err)
	}
	p, err := engine.Load(file, raw)
	if err != nil {
		return nil, err
	}
	if dir := path.Dir(file); dir != p.Name() {
		return nil, fmt.Errorf("scenario %s: the folder is called %q, but metadata.name says %q", file, dir, p.Name())
	}
	return p, nil
}

// List gives all scenarios, by module, difficulty and name.
func (r *Registry) List() []*engine.Program {
	return slices.SortedFunc(maps.Values(r.byName), func(a, b *engine.Program) int {
		return cmp.Or(cmp.Compare(a.Module(), b.Module()), cmp.Compare(a.Difficulty(), b.Difficulty()), cmp.Compare(a.Name(), b.Name()))
	})
}

// Names gives the names of all scenarios, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.byName)) }

// Find gives the scenario of that name.
func (r *Registry) Find(name string) (*engine.Program, bool) {
	p, ok := r.byName[name]
	return p, ok
}

// Nearest gives the name nearest to a mistyped one, or empty when none is near.
func (r *Registry) Nearest(name string) string { return engine.Nearest(name, r.Names()) }
