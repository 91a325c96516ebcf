package exhibit

import (
	"regexp"
	"strings"
)

const mask = "***"

var (
	secretName = regexp.MustCompile(`(?i)pass|pwd|secret|token|key|cred|auth|private|dsn|cookie|session`)
	// In free text a value counts as secret when it stands after such a name:
	// --db-password=x, API_TOKEN: x, "clientSecret":"x".
	assigned = regexp.MustCompile(`(?i)([\w.-]*(?:password|passwd|pwd|secret|token|api-?_?key|access-?_?key|private-?_?key|credential)[\w.-]*"?[ \t]*[=:][ \t]*"?)([^\s",;]+)`)
	word     = regexp.MustCompile(`^[a-z]+$`)
	bearer   = regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}`)
	userinfo = regexp.MustCompile(`(\w+://[^\s/:@]*:)[^\s/@]+@`)
	jwt      = regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+\.[\w-]*`)
	pem      = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`)
)

// Redact masks in a text what looks like a secret: values of names such as
// password and token, credentials in URLs, bearer tokens, private keys. kubectl
// prints `<set to the key …>` for a reference to a Secret; that stays.
func Redact(s string) string {
	s = pem.ReplaceAllString(s, mask)
	s = jwt.ReplaceAllString(s, mask)
	s = bearer.ReplaceAllString(s, "${1}"+mask)
	s = userinfo.ReplaceAllString(s, "${1}"+mask+"@")
	s = assigned.ReplaceAllStringFunc(s, func(m string) string {
		p := assigned.FindStringSubmatch(m)
		if harmless(p[1], p[2]) {
			return m
		}
		return p[1] + mask
	})
	return redactEnvironment(s)
}

// harmless keeps kubectl's references, the fields of a projected token volume,
// which hold no value, and sentences such as "fetch anonymous token: unexpected
// status" of a container runtime.
func harmless(name, value string) bool {
	if strings.HasPrefix(value, "<") {
		return true
	}
	sentence := strings.HasSuffix(name, ": ") && word.MatchString(value)
	name = strings.ToLower(strings.TrimRight(name, "=: \t\""))
	switch name {
	case "tokenexpirationseconds", "secretname", "imagepullsecrets":
		return true
	}
	return sentence && !strings.Contains(name, "pass") && !strings.Contains(name, "pwd")
}

// variable matches a row of kubectl's "Environment:" list.
var variable = regexp.MustCompile(`^( +[^\s:][^:]*:)( +)(.*)$`)

// redactEnvironment masks the values of an "Environment:" list in kubectl's
// description, which prints plain values as they are, over several rows if they
// have several lines.
func redactEnvironment(s string) string {
	var out []string
	depth, hiding := -1, -1 // indent of the list, and of the variable being hidden
	for row := range strings.SplitSeq(s, "\n") {
		indent := len(row) - len(strings.TrimLeft(row, " "))
		switch {
		case strings.HasPrefix(strings.TrimSpace(row), "Environment:"):
			depth, hiding = indent, -1
		case depth >= 0 && row != "" && indent <= depth:
			depth, hiding = -1, -1
		case depth >= 0 && hiding >= 0 && (row == "" || indent > hiding):
			continue
		case depth >= 0:
			hiding = -1
			if m := variable.FindStringSubmatch(row); m != nil && secretName.MatchString(m[1]) && m[3] != "" && !strings.HasPrefix(m[3], "<set to") {
				row, hiding = m[1]+m[2]+mask, indent
			}
		}
		out = append(out, row)
	}
	return strings.Join(out, "\n")
}

// maskEnv hides the value of an environment variable whose name sounds secret;
// any other value still passes Redact.
func maskEnv(name, value string) string {
	if secretName.MatchString(name) && value != "" {
		return mask
	}
	return Redact(value)
}
