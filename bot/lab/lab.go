// Package lab holds the nouns that every part of the bot shares, as plain
// values: who asks, where, in which language, and about which run.
//
// It imports nothing of the project and does no I/O, so any package may use it.
package lab

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"strings"
)

// RunID names one run of a scenario, for example "r-7k2mq4xa". It is a valid
// Kubernetes label value and a valid suffix of a namespace name.
type RunID string

// UserID is a Slack user id such as "U0STUDENT1".
type UserID string

// ChannelID is a Slack conversation id such as "C0COHORT01".
type ChannelID string

// TS is a Slack message timestamp, the message's id in its channel. It is a
// string by contract ("1796000000.000100") and never a float.
type TS string

// CohortID names a class. A cohort is bound to one channel.
type CohortID string

// Role tells what a person may do.
type Role string

// The roles a person can have in a cohort.
const (
	Instructor Role = "instructor"
	Learner    Role = "learner"
)

// Lang is a language that texts for people are written in.
type Lang string

// The languages of every text for people.
const (
	RU Lang = "ru"
	EN Lang = "en"
)

// Langs lists the languages, the default first.
var Langs = []Lang{EN, RU}

// ParseLang returns the language for a tag such as "ru", "RU" or "ru_RU.UTF-8".
func ParseLang(tag string) (Lang, error) {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(tag, "_", "-")), "-")
	switch Lang(base) {
	case RU:
		return RU, nil
	case EN:
		return EN, nil
	}
	return "", fmt.Errorf("language %q: want ru or en", tag)
}

// Text is one text for people in every language. Both halves are required.
type Text struct {
	RU string `json:"ru" yaml:"ru"`
	EN string `json:"en" yaml:"en"`
}

// In returns the half for lang, and the English one for an unknown language.
func (t Text) In(lang Lang) string {
	if lang == RU {
		return t.RU
	}
	return t.EN
}

// IsZero tells whether neither half is set.
func (t Text) IsZero() bool { return t == Text{} }

// Complete tells whether both halves are set.
func (t Text) Complete() bool { return t.RU != "" && t.EN != "" }

// runIDEncoding leaves out l and o, which are misread as 1 and 0, and a and u,
// so that an id rarely spells a word.
var runIDEncoding = base32.NewEncoding("0123456789bcdefghijkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewRunID returns a fresh random id.
func NewRunID() RunID {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return RunID("r-" + runIDEncoding.EncodeToString(b[:]))
}
