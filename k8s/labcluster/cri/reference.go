package cri

import (
	"fmt"

	"github.com/distribution/reference"
)

// ref is an image reference in the full form that containerd shows.
type ref struct{ named reference.Named }

func parseReference(s string) (ref, error) {
	named, err := reference.ParseDockerRef(s)
	if err != nil {
		return ref{}, fmt.Errorf("failed to parse image reference %q: %w", s, err)
	}
	return ref{named}, nil
}

func (r ref) String() string     { return r.named.String() }
func (r ref) repository() string { return r.named.Name() }
func (r ref) host() string       { return reference.Domain(r.named) }
func (r ref) path() string       { return reference.Path(r.named) }

func (r ref) tag() string {
	if t, ok := r.named.(reference.Tagged); ok {
		return t.Tag()
	}
	return ""
}

func (r ref) digest() string {
	if d, ok := r.named.(reference.Digested); ok {
		return d.Digest().String()
	}
	return ""
}
