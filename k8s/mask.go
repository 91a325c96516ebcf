package k8s

import (
	"regexp"
	"strings"
)

// masked stands where a value was taken out.
const masked = "[masked]"

// secretive matches names of variables that tend to hold a secret.
var secretive = regexp.MustCompile(`(?i)pass(wd|word|phrase)?|pwd|secret|token|credential|(api|access|private|signing|encryption)[-_.]?key|(^|[-_.])(key|auth|dsn|cert)([-_.]|$)|conn(ection)?[-_.]?str`)

var (
	environment = regexp.MustCompile(`^( *)Environment:`)
	variable    = regexp.MustCompile(`^( +)([^\s:][^:]*):( +)(.*)$`)
	// reference is what describe prints for valueFrom: a name, never a value.
	reference = regexp.MustCompile(`^<set to the key '[^']*' (in secret|of config map) '[^']*'>`)
)

// mask takes the values of secret-sounding variables out of a description by
// kubectl. Lines that continue such a value go with it.
func mask(text string) string {
	lines := strings.SplitAfter(text, "\n")
	out := make([]string, 0, len(lines))
	block, hiding := -1, -1 // indent of the Environment block; indent of the hidden variable
	for _, line := range lines {
		bare := strings.TrimRight(line, "\r\n")
		indent := len(bare) - len(strings.TrimLeft(bare, " "))
		if m := environment.FindStringSubmatch(bare); m != nil {
			block, hiding = len(m[1]), -1
		} else if block >= 0 && bare != "" && indent <= block {
			block, hiding = -1, -1
		} else if block >= 0 {
			if hiding >= 0 && (indent > hiding || bare == "") {
				continue
			}
			hiding = -1
			if m := variable.FindStringSubmatch(bare); m != nil && m[4] != "" && secretive.MatchString(m[2]) && !reference.MatchString(m[4]) {
				line, hiding = m[1]+m[2]+":"+m[3]+masked+"\n", indent
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "")
}
