package cri

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed images.yaml
var builtin []byte

// Catalogue says which registries and images exist and what their containers do.
type Catalogue struct {
	Registries   []Registry   `json:"registries"`
	Repositories []Repository `json:"repositories"`
}

// Registry is a host that answers pulls; a host that is not listed does not resolve.
type Registry struct {
	Host string `json:"host"`
	// Unreachable makes each pull fail as if nothing listened on the host.
	Unreachable bool `json:"unreachable,omitempty"`
	// Address is the dialled address shown when the host is unreachable.
	Address string `json:"address,omitempty"`
}

// Repository is one image name with all its tags.
type Repository struct {
	// Name is the full name with its registry, e.g. docker.io/library/nginx.
	Name string   `json:"name"`
	Tags []string `json:"tags"`
	// Size is what the image takes on disk.
	Size resource.Quantity `json:"size"`
	// PullTakes is how long a pull lasts; half a second when not given.
	PullTakes *metav1.Duration `json:"pullTakes,omitempty"`
	// Login, when set, must be presented through an image pull secret.
	Login *Login `json:"login,omitempty"`
	// Platforms lists the architectures of the image; all when empty.
	Platforms []string `json:"platforms,omitempty"`
	// SingleManifest images have no index: a foreign one pulls and then cannot start.
	SingleManifest bool `json:"singleManifest,omitempty"`
	// User is the USER of the image, numeric or a name; empty means root.
	User       string            `json:"user,omitempty"`
	Entrypoint []string          `json:"entrypoint,omitempty"`
	Command    []string          `json:"command,omitempty"`
	Env        []string          `json:"env,omitempty"`
	WorkingDir string            `json:"workingDir,omitempty"`
	StopSignal string            `json:"stopSignal,omitempty"`
	Files      map[string]string `json:"files,omitempty"`
	// Shell gives the image a POSIX shell and the small tools that come with it.
	Shell bool `json:"shell,omitempty"`
	// Programs are the image's own executables by absolute path.
	Programs map[string]Behaviour `json:"programs,omitempty"`
}

// Login is the user name and password a private repository asks for.
type Login struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// Behaviour is what a program does once it is started. Its parts happen in the
// order of the fields; all are optional.
type Behaviour struct {
	// Require ends the program with code 1 when a file or variable is missing.
	Require *Require `json:"require,omitempty"`
	// Log lines are written to standard error at the start; {{hostname}} is replaced.
	Log []string `json:"log,omitempty"`
	// Print lines are written to standard output at the start.
	Print []string `json:"print,omitempty"`
	// Tick repeats one output line.
	Tick *Tick `json:"tick,omitempty"`
	// Memory is the working set over time; over the limit the container is OOM-killed.
	Memory *Memory `json:"memory,omitempty"`
	// Serve answers HTTP on the Pod's address.
	Serve *Serve `json:"serve,omitempty"`
	// GRPCHealth serves grpc.health.v1 on this port.
	GRPCHealth int `json:"grpcHealth,omitempty"`
	// Exit ends the program by itself.
	Exit *Exit `json:"exit,omitempty"`
	// IgnoreTerm keeps the program running until it is killed.
	IgnoreTerm bool `json:"ignoreTerm,omitempty"`
	// TermExitCode is the exit code after a stop signal that is obeyed.
	TermExitCode int32 `json:"termExitCode,omitempty"`
	// Process runs the component of this name as a real process. It is for the
	// static Pods of the cluster itself and refused to all others.
	Process string `json:"process,omitempty"`
	// RootOnly ends the program with this message when it does not run as root.
	RootOnly string `json:"rootOnly,omitempty"`
}

// Require names what a program needs at its start.
type Require struct {
	Files []string `json:"files,omitempty"`
	Env   []string `json:"env,omitempty"`
}

// Tick is an output line repeated at an interval.
type Tick struct {
	Line  string          `json:"line"`
	Every metav1.Duration `json:"every"`
}

// Memory describes a working set. Grow is added each Every until Max (0: no end).
type Memory struct {
	Start resource.Quantity `json:"start"`
	Grow  resource.Quantity `json:"grow"`
	Every metav1.Duration   `json:"every"`
	Max   resource.Quantity `json:"max"`
}

// Serve is an HTTP server.
type Serve struct {
	Port int `json:"port"`
	// Root is the folder in the container that is served.
	Root string `json:"root,omitempty"`
	// ServerHeader is sent as Server.
	ServerHeader string `json:"serverHeader,omitempty"`
	// ReadyAfter delays the first listening.
	ReadyAfter metav1.Duration `json:"readyAfter,omitempty"`
	// Status maps a path to a fixed status code.
	Status map[string]int `json:"status,omitempty"`
	// AccessLog writes one line a request to standard output.
	AccessLog bool `json:"accessLog,omitempty"`
	// BindError is the line logged when the port is taken; {{address}} is replaced.
	BindError string `json:"bindError,omitempty"`
}

// Exit ends a program after a time with a code.
type Exit struct {
	After metav1.Duration `json:"after"`
	Code  int32           `json:"code"`
	// Line is written to standard error before the end.
	Line string `json:"line,omitempty"`
}

// LoadCatalogue reads a catalogue file, or the built-in one when path is empty.
func LoadCatalogue(path string) (*Catalogue, error) {
	data, name := builtin, "built-in catalogue"
	if path != "" {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("read image catalogue: %w", err)
		}
		name = path
	}
	return ParseCatalogue(name, data)
}

// ParseCatalogue reads a catalogue and refuses unknown fields and double names.
func ParseCatalogue(name string, data []byte) (*Catalogue, error) {
	var c Catalogue
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return nil, fmt.Errorf("image catalogue %s: %w", name, err)
	}
	seen := map[string]bool{}
	for _, r := range c.Repositories {
		ref, err := parseReference(r.Name)
		if err != nil {
			return nil, fmt.Errorf("image catalogue %s: repository %q: %w", name, r.Name, err)
		}
		switch {
		case ref.repository() != r.Name:
			return nil, fmt.Errorf("image catalogue %s: repository %q must be written in full: %s", name, r.Name, ref.repository())
		case seen[r.Name]:
			return nil, fmt.Errorf("image catalogue %s: repository %q is there twice", name, r.Name)
		case len(r.Tags) == 0:
			return nil, fmt.Errorf("image catalogue %s: repository %q has no tags", name, r.Name)
		case c.registry(ref.host()) == nil:
			return nil, fmt.Errorf("image catalogue %s: repository %q: registry %q is not listed", name, r.Name, ref.host())
		}
		seen[r.Name] = true
	}
	return &c, nil
}

func (c *Catalogue) registry(host string) *Registry {
	for i := range c.Registries {
		if c.Registries[i].Host == host {
			return &c.Registries[i]
		}
	}
	return nil
}

func (c *Catalogue) repository(name string) *Repository {
	for i := range c.Repositories {
		if c.Repositories[i].Name == name {
			return &c.Repositories[i]
		}
	}
	return nil
}

func (r *Repository) hasTag(tag string) bool { return slices.Contains(r.Tags, tag) }

// runsHere tells whether the image has a variant for this machine.
func (r *Repository) runsHere() bool {
	return len(r.Platforms) == 0 || slices.Contains(r.Platforms, runtime.GOARCH)
}

// digestFor derives a stable digest from the text: the simulated image has no
// content to take one of.
func digestFor(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "sha256:" + hex.EncodeToString(sum[:])
}
