package cri

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func newImages(t *testing.T, dir string) *ImageService {
	t.Helper()
	c, err := LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewImageService(c, dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pull(t *testing.T, s *ImageService, name string, auth *runtimeapi.AuthConfig) (string, error) {
	t.Helper()
	resp, err := s.PullImage(t.Context(), &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: name}, Auth: auth})
	return resp.GetImageRef(), err
}

// The wording is containerd's; a learner finds it in search engines.
func TestPullRefusals(t *testing.T) {
	s := newImages(t, t.TempDir())
	wrong := &runtimeapi.AuthConfig{Username: "lab", Password: "guess"}
	for name, c := range map[string]struct {
		auth *runtimeapi.AuthConfig
		code codes.Code
		want string
	}{
		"nginx:does-not-exist": {nil, codes.NotFound, `failed to pull and unpack image "docker.io/library/nginx:does-not-exist": failed to resolve reference "docker.io/library/nginx:does-not-exist": docker.io/library/nginx:does-not-exist: not found`},
		"nosuchthing":          {nil, codes.Unknown, `failed to pull and unpack image "docker.io/library/nosuchthing:latest": failed to resolve reference "docker.io/library/nosuchthing:latest": pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed`},
		"down.lab.test/app:1":  {nil, codes.Unknown, `failed to pull and unpack image "down.lab.test/app:1": failed to resolve reference "down.lab.test/app:1": failed to do request: Head "https://down.lab.test/v2/app/manifests/1": dial tcp 10.96.66.66:443: connect: connection refused`},
		"nowhere.test/app:1":   {nil, codes.Unknown, `failed to pull and unpack image "nowhere.test/app:1": failed to resolve reference "nowhere.test/app:1": failed to do request: Head "https://nowhere.test/v2/app/manifests/1": dial tcp: lookup nowhere.test: no such host`},

		"registry.lab.test/lab/private-web:1":      {nil, codes.Unknown, `failed to pull and unpack image "registry.lab.test/lab/private-web:1": failed to resolve reference "registry.lab.test/lab/private-web:1": pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials`},
		"registry.lab.test/lab/private-web:latest": {wrong, codes.Unknown, `failed to pull and unpack image "registry.lab.test/lab/private-web:latest": failed to resolve reference "registry.lab.test/lab/private-web:latest": unexpected status from HEAD request to https://registry.lab.test/v2/lab/private-web/manifests/latest: 401 Unauthorized`},
		"registry.lab.test/lab/other-arch:1":       {nil, codes.NotFound, `failed to pull and unpack image "registry.lab.test/lab/other-arch:1": no match for platform in manifest: not found`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pull(t, s, name, c.auth)
			if got := status.Convert(err); got.Code() != c.code || got.Message() != c.want {
				t.Errorf("refused with %s\n%s\nwant %s\n%s", got.Code(), got.Message(), c.code, c.want)
			}
		})
	}
}

func TestPulledImageIsKept(t *testing.T) {
	dir := t.TempDir()
	s := newImages(t, dir)
	id, err := pull(t, s, "nginx:1.29-alpine", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pull(t, s, "registry.lab.test/lab/private-web:1", &runtimeapi.AuthConfig{Username: "lab", Password: "lab-pull-secret"}); err != nil {
		t.Errorf("the right secret is refused: %v", err)
	}
	again := newImages(t, dir)
	for _, name := range []string{"nginx:1.29-alpine", "docker.io/library/nginx:1.29-alpine", id} {
		if img := again.find(name); img == nil || img.ID != id {
			t.Errorf("%s is not found after a restart", name)
		}
	}
	if again.find("nginx:1.28-alpine") != nil {
		t.Error("another tag must not be taken for it")
	}
	if _, err := again.RemoveImage(t.Context(), &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: id}}); err != nil {
		t.Fatal(err)
	}
	if again.find(id) != nil {
		t.Error("a removed image is still there")
	}
}
