package cri

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// resolve finds the repository of a reference, or refuses in containerd's words.
func (s *ImageService) resolve(r ref, auth *runtimeapi.AuthConfig) (*Repository, error) {
	registry := s.catalogue.registry(r.host())
	switch {
	case registry == nil:
		return nil, refuse(codes.Unknown, r, fmt.Sprintf("failed to do request: Head %q: dial tcp: lookup %s: no such host",
			manifestURL(r), r.host()))
	case registry.Unreachable:
		return nil, refuse(codes.Unknown, r, fmt.Sprintf("failed to do request: Head %q: dial tcp %s: connect: connection refused",
			manifestURL(r), registry.Address))
	}
	repo := s.catalogue.repository(r.repository())
	if repo == nil {
		return nil, refuse(codes.Unknown, r, "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed")
	}
	if err := repo.authorize(r, auth); err != nil {
		return nil, err
	}
	if !repo.has(r) {
		return nil, refuse(codes.NotFound, r, r.String()+": not found")
	}
	if !repo.runsHere() && !repo.SingleManifest {
		return nil, status.Error(codes.NotFound, fmt.Sprintf("failed to pull and unpack image %q: no match for platform in manifest: not found", r))
	}
	return repo, nil
}

func (r *Repository) has(want ref) bool {
	if d := want.digest(); d != "" {
		for _, tag := range r.Tags {
			if digestFor("manifest", r.Name, tag) == d {
				return true
			}
		}
		return false
	}
	return r.hasTag(want.tag())
}

func (r *Repository) authorize(want ref, auth *runtimeapi.AuthConfig) error {
	switch {
	case r.Login == nil:
		return nil
	case auth.GetUsername() == "" && auth.GetAuth() == "":
		return refuse(codes.Unknown, want, "pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials")
	case auth.GetUsername() != r.Login.Username || auth.GetPassword() != r.Login.Password:
		return refuse(codes.Unknown, want, fmt.Sprintf("unexpected status from HEAD request to %s: 401 Unauthorized", manifestURL(want)))
	}
	return nil
}

func refuse(code codes.Code, r ref, why string) error {
	return status.Error(code, fmt.Sprintf("failed to pull and unpack image %q: failed to resolve reference %q: %s", r, r, why))
}

func manifestURL(r ref) string {
	host := r.host()
	if host == "docker.io" {
		host = "registry-1.docker.io"
	}
	what := r.tag()
	if d := r.digest(); d != "" {
		what = d
	}
	return fmt.Sprintf("https://%s/v2/%s/manifests/%s", host, r.path(), what)
}

// numericUser splits a USER of an image; the empty one is root.
func numericUser(user string) (int64, bool) {
	user, _, _ = strings.Cut(user, ":")
	if user == "" || user == "root" {
		return 0, true
	}
	uid, err := strconv.ParseInt(user, 10, 64)
	return uid, err == nil
}
