package lab

import (
	"regexp"
	"testing"
)

func TestNewRunIDIsALabelValue(t *testing.T) {
	want := regexp.MustCompile(`^r-[a-z0-9]{8}$`)
	seen := map[RunID]bool{}
	for range 1000 {
		id := NewRunID()
		if !want.MatchString(string(id)) {
			t.Fatalf("NewRunID() = %q, want a match of %s", id, want)
		}
		if seen[id] {
			t.Fatalf("NewRunID() gave %q twice", id)
		}
		seen[id] = true
	}
}

func TestParseLang(t *testing.T) {
	for tag, want := range map[string]Lang{"ru": RU, "RU": RU, "ru_RU.UTF-8": RU, "en-US": EN, "de": "", "": ""} {
		got, err := ParseLang(tag)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("ParseLang(%q) = %q, %v, want %q", tag, got, err, want)
		}
	}
}
