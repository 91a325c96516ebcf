// Package text is the one catalogue of texts for people, in Russian and English.
//
// The files in catalogue/ hold `key: {ru: …, en: …}`, one file a topic. A value
// may have plural forms: `{ru: {one, few, many}, en: {one, other}}`. A place for
// a value is written {name}. The catalogue is checked whole when it is first
// used, and a test checks that every key the code names is there.
package text

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"

	"labbot/bot/lab"
)

//go:embed catalogue/*.yaml
var files embed.FS

// half is one language of an entry: forms by plural category, "other" always.
type half map[string]string

// UnmarshalYAML takes a plain string or a map of plural forms.
func (h *half) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*h = half{"other": n.Value}
		return nil
	}
	forms := map[string]string{}
	if err := n.Decode(&forms); err != nil {
		return err
	}
	*h = forms
	return nil
}

type entry struct {
	RU half `yaml:"ru"`
	EN half `yaml:"en"`
}

func (e entry) in(lang lab.Lang) half {
	if lang == lab.RU {
		return e.RU
	}
	return e.EN
}

var catalogue = sync.OnceValue(func() map[string]entry {
	c, err := load(files)
	if err != nil {
		panic(err) // a broken constant: the files are embedded
	}
	return c
})

var keyForm = regexp.MustCompile(`^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+$`)

func load(fsys fs.FS) (map[string]entry, error) {
	paths, err := fs.Glob(fsys, "catalogue/*.yaml")
	if err != nil {
		return nil, err
	}
	all := map[string]entry{}
	for _, p := range paths {
		raw, err := fs.ReadFile(fsys, p)
		if err != nil {
			return nil, err
		}
		part := map[string]entry{}
		dec := yaml.NewDecoder(strings.NewReader(string(raw)))
		dec.KnownFields(true)
		if err := dec.Decode(&part); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		for key, e := range part {
			if _, twice := all[key]; twice {
				return nil, fmt.Errorf("%s: key %q is defined twice", p, key)
			}
			if err := e.check(key); err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
			all[key] = e
		}
	}
	return all, nil
}

// forms lists the plural categories that each language needs.
var forms = map[lab.Lang][]string{lab.RU: {"one", "few", "many"}, lab.EN: {"one", "other"}}

func (e entry) check(key string) error {
	if !keyForm.MatchString(key) {
		return fmt.Errorf("key %q: want topic.name in lower case", key)
	}
	places := map[lab.Lang][]string{}
	for _, lang := range lab.Langs {
		h := e.in(lang)
		if len(h) == 0 {
			return fmt.Errorf("key %q: the half %q is missing", key, lang)
		}
		if _, plain := h["other"]; !plain || len(h) > 1 {
			for _, f := range forms[lang] {
				if h[f] == "" {
					return fmt.Errorf("key %q: %s needs the plural form %q", key, lang, f)
				}
			}
		}
		for form, s := range h {
			if strings.TrimSpace(s) == "" {
				return fmt.Errorf("key %q: %s %s is empty", key, lang, form)
			}
			p := placesOf(s)
			if prev, ok := places[lang]; ok && !slices.Equal(prev, p) {
				return fmt.Errorf("key %q: plural forms of %s have different places", key, lang)
			}
			places[lang] = p
		}
	}
	if !slices.Equal(places[lab.RU], places[lab.EN]) {
		return fmt.Errorf("key %q: places differ: ru %v, en %v", key, places[lab.RU], places[lab.EN])
	}
	return nil
}

var place = regexp.MustCompile(`\{([a-z][a-zA-Z]*)\}`)

func placesOf(s string) []string {
	seen := map[string]bool{}
	for _, m := range place.FindAllStringSubmatch(s, -1) {
		seen[m[1]] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// T returns the text for key in lang. args are pairs of a place's name and its
// value. An unknown key comes back as it is, so that it is seen.
func T(lang lab.Lang, key string, args ...any) string {
	e, ok := catalogue()[key]
	if !ok {
		return key
	}
	h := e.in(lang)
	s, ok := h["other"]
	if !ok {
		s = h["many"]
	}
	return fill(s, args)
}

// N is T for a counted thing: it picks the plural form for n and fills {n}.
func N(lang lab.Lang, key string, n int, args ...any) string {
	e, ok := catalogue()[key]
	if !ok {
		return key
	}
	h := e.in(lang)
	s, ok := h[category(lang, n)]
	if !ok {
		s = h["other"]
	}
	return fill(s, append([]any{"n", n}, args...))
}

// Has tells whether the catalogue knows key.
func Has(key string) bool {
	_, ok := catalogue()[key]
	return ok
}

// Both returns a text in every language, for data that is stored.
func Both(key string, args ...any) lab.Text {
	return lab.Text{RU: T(lab.RU, key, args...), EN: T(lab.EN, key, args...)}
}

func category(lang lab.Lang, n int) string {
	tag := language.English
	if lang == lab.RU {
		tag = language.Russian
	}
	if n < 0 {
		n = -n
	}
	switch plural.Cardinal.MatchPlural(tag, n, 0, 0, 0, 0) {
	case plural.One:
		return "one"
	case plural.Few:
		return "few"
	case plural.Many:
		return "many"
	}
	return "other"
}

func fill(s string, args []any) string {
	if len(args) == 0 {
		return s
	}
	pairs := make([]string, 0, len(args))
	for i := 0; i+1 < len(args); i += 2 {
		pairs = append(pairs, "{"+fmt.Sprint(args[i])+"}", fmt.Sprint(args[i+1]))
	}
	return strings.NewReplacer(pairs...).Replace(s)
}
