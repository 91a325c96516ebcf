package command

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/agnivade/levenshtein"
	"golang.org/x/text/unicode/norm"
)

var (
	dashes = strings.NewReplacer("‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "--", "―", "--", "−", "-", "\uFE63", "-", "\uFF0D", "-")
	quotes = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‟", `"`, "«", `"`, "»", `"`, "″", `"`, "‘", "'", "’", "'")
	// entities are the three that Slack escapes; nothing else is an entity.
	entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

	link    = regexp.MustCompile(`<(?:https?|mailto):[^|>]*\|([^>]*)>`)
	mention = regexp.MustCompile(`<([@#!][^|>]*)(?:\|([^>]*))?>`)
)

// Normalise undoes what chat clients do to typed text. An em dash is a double
// hyphen, since that is what clients make of one.
func Normalise(s string) string {
	s = link.ReplaceAllString(s, "$1")
	s = mention.ReplaceAllString(s, " ")
	s = entities.Replace(s)
	s = quotes.Replace(dashes.Replace(norm.NFC.String(s)))
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.Cf, r), unicode.IsControl(r):
			return -1 // zero-width marks, byte order marks, text direction
		}
		return r
	}, s)
	fields := strings.Fields(s)
	for i, f := range fields {
		fields[i] = unmark(f)
	}
	return strings.TrimSpace(strings.Join(fields, " "))
}

// unmark takes away formatting marks (*bold*, `code`) around a word. An
// underscore or a tilde inside a word stays.
func unmark(w string) string {
	const marks = "*_~`"
	t := strings.Trim(w, marks)
	if t == "" {
		return w
	}
	return t
}

// Nearest returns the candidate that word is most likely a slip of, or "" when
// none is near enough to be worth offering.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", 0
	for _, c := range candidates {
		d := levenshtein.ComputeDistance(word, c)
		if strings.HasPrefix(c, word) && len(word) >= 3 {
			d = 1
		}
		if best == "" || d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if limit := max(2, len([]rune(word))/3); best == "" || bestDistance > limit || bestDistance >= len([]rune(word)) {
		return ""
	}
	return best
}
