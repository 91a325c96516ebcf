package cri

import (
	"strings"
	"testing"
)

func TestBuiltinCatalogueIsSound(t *testing.T) {
	c, err := LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	nginx := c.repository("docker.io/library/nginx")
	if nginx == nil || !nginx.hasTag("1.29-alpine") || nginx.hasTag("does-not-exist") {
		t.Errorf("the course's image is not as the course needs it: %+v", nginx)
	}
	for _, r := range c.Repositories {
		if len(r.Programs) == 0 && !r.Shell {
			t.Errorf("%s can run nothing", r.Name)
		}
	}
}

func TestCatalogueErrors(t *testing.T) {
	const registry = "registries: [{host: docker.io}]\n"
	for name, c := range map[string]struct{ text, want string }{
		"unknown field":    {registry + "repositories: [{name: docker.io/library/a, tags: [x], sized: 1}]", `unknown field "sized"`},
		"short name":       {registry + "repositories: [{name: nginx, tags: [x]}]", "must be written in full: docker.io/library/nginx"},
		"no tags":          {registry + "repositories: [{name: docker.io/library/a}]", "has no tags"},
		"unknown registry": {"repositories: [{name: docker.io/library/a, tags: [x]}]", `registry "docker.io" is not listed`},
		"twice":            {registry + "repositories: [{name: docker.io/library/a, tags: [x]}, {name: docker.io/library/a, tags: [y]}]", "is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseCatalogue("test", []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
