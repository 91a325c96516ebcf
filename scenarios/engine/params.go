package engine

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/distribution/reference"

	"labbot/bot/lab"
	"labbot/bot/text"
)

// runLimit is how long a run may take before it is ended and cleaned up.
const runLimit = 60 * time.Minute

// StartArgs is what a run needs beside the scenario.
type StartArgs struct {
	Run lab.RunID
	// Params are the values of the command, as typed: name → value.
	Params map[string]string
	// Registries maps a course registry or repository prefix to the lab's own,
	// such as "docker.io" → "registry.lab:5000". Tags are kept.
	Registries map[string]string
	At         time.Time
}

// Start gives the first state of a run. The error is a *ParamError.
func (p *Program) Start(a StartArgs) (State, error) {
	at := a.At.Round(0).UTC()
	s := State{
		Run: a.Run, Scenario: p.Name(), Version: p.Version(), Namespace: p.sc.Spec.Namespace.Name,
		Registries: maps.Clone(a.Registries), StartedAt: at, Deadline: at.Add(runLimit),
		Phase: Prepare, PhaseStarted: at, Steps: []StepState{}, WakeAt: at,
	}
	if p.sc.Spec.Namespace.Mode == "suffix" {
		s.Namespace += "-" + string(a.Run)
	}
	var err error
	if s.Params, err = p.params(a.Params); err != nil {
		return State{}, err
	}
	if s.Images, err = p.images(&s); err != nil {
		return State{}, err
	}
	s.Buttons = p.firstButtons()
	return s, nil
}

func (p *Program) firstButtons() []ButtonState {
	if p.sc.Spec.Phases.Fix == nil {
		return []ButtonState{{ID: buttonHint}, {ID: buttonStop, Enabled: true}}
	}
	var bs []ButtonState
	for _, b := range p.sc.Spec.Phases.Fix.Buttons {
		bs = append(bs, ButtonState{ID: b.ID, Enabled: b.ID == buttonStop})
	}
	return bs
}

// params takes the command's values, and defaults for the rest.
func (p *Program) params(typed map[string]string) (map[string]any, error) {
	known := slices.Sorted(maps.Keys(p.sc.Spec.Parameters))
	for _, name := range slices.Sorted(maps.Keys(typed)) {
		if _, ok := p.sc.Spec.Parameters[name]; ok {
			continue
		}
		msg := text.Both("scenario.param-unknown", "name", clip(name), "known", strings.Join(known, ", "))
		if near := Nearest(name, known); near != "" {
			msg = text.Both("scenario.param-unknown-near", "name", clip(name), "near", near)
		} else if len(known) == 0 {
			msg = text.Both("scenario.param-none", "scenario", p.Name())
		}
		return nil, &ParamError{Name: name, Text: msg}
	}
	values := map[string]any{}
	for _, name := range known {
		def := p.sc.Spec.Parameters[name]
		word, ok := typed[name]
		if !ok {
			word = fmt.Sprint(def.Default.V)
		}
		v, msg := def.take(name, word)
		if !msg.IsZero() {
			return nil, &ParamError{Name: name, Text: msg}
		}
		values[name] = v
	}
	return values, nil
}

// take reads one value. A text that is not zero says why it was refused.
func (d Parameter) take(name, word string) (any, lab.Text) {
	switch d.Type {
	case "int":
		return d.takeInt(name, word)
	case "duration":
		return d.takeDuration(name, word)
	case "enum":
		if slices.Contains(d.Values, word) {
			return word, lab.Text{}
		}
		return nil, text.Both("scenario.param-enum", "name", name, "value", clip(word), "known", strings.Join(d.Values, ", "))
	}
	if d.Pattern != "" {
		if re, err := regexp.Compile(`^(?:` + d.Pattern + `)$`); err != nil || !re.MatchString(word) {
			return nil, text.Both("scenario.param-pattern", "name", name, "value", clip(word), "pattern", d.Pattern, "default", fmt.Sprint(d.Default.V))
		}
	}
	if word == "" || len(word) > maxString {
		return nil, text.Both("scenario.param-pattern", "name", name, "value", clip(word), "pattern", ".+", "default", fmt.Sprint(d.Default.V))
	}
	return word, lab.Text{}
}

func (d Parameter) takeInt(name, word string) (any, lab.Text) {
	low, high := d.intBounds()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < low || n > high {
		return nil, text.Both("scenario.param-int", "name", name, "value", clip(word), "min", low, "max", high)
	}
	return n, lab.Text{}
}

func (d Parameter) intBounds() (low, high int64) {
	low, high = 0, 1000
	if d.Min != nil {
		low, _ = d.Min.V.(int64)
	}
	if d.Max != nil {
		high, _ = d.Max.V.(int64)
	}
	return low, high
}

// takeDuration keeps a duration as kubectl writes it, "90s" or "1m30s".
func (d Parameter) takeDuration(name, word string) (any, lab.Text) {
	low, high := d.durationBounds()
	v, err := time.ParseDuration(word)
	if err != nil || v < low || v > high {
		return nil, text.Both("scenario.param-duration", "name", name, "value", clip(word), "min", low.String(), "max", high.String())
	}
	return v.String(), lab.Text{}
}

func (d Parameter) durationBounds() (low, high time.Duration) {
	low, high = time.Second, time.Hour
	if d.Min != nil {
		low, _ = time.ParseDuration(fmt.Sprint(d.Min.V))
	}
	if d.Max != nil {
		high, _ = time.ParseDuration(fmt.Sprint(d.Max.V))
	}
	return low, high
}

// parameter checks a parameter's own definition, its default included.
func (c *checker) parameter(name string, d Parameter) {
	path := "spec.parameters." + name
	if _, err := regexp.Compile(d.Pattern); err != nil {
		c.problem(path+".pattern", text.Both("scenario.pattern", "error", err.Error()), "")
		return
	}
	bounded := d.Type == "int" || d.Type == "duration"
	switch {
	case !bounded && (d.Min != nil || d.Max != nil):
		c.problem(path, text.Both("scenario.param-bounds", "type", d.Type), "")
	case d.Type != "string" && d.Pattern != "":
		c.problem(path+".pattern", text.Both("scenario.param-pattern-string"), "")
	case (d.Type == "enum") != (len(d.Values) > 0):
		c.problem(path+".values", text.Both("scenario.param-values"), "")
	case d.Type == "int" && (d.Min != nil && !isInt(d.Min.V) || d.Max != nil && !isInt(d.Max.V)):
		c.problem(path, text.Both("scenario.want-type", "want", "int", "got", "string"), "")
	default:
		if _, msg := d.take(name, fmt.Sprint(d.Default.V)); !msg.IsZero() {
			c.problem(path+".default", msg, "")
		}
	}
}

// images resolves the scenario's images and puts them onto the lab's registry.
func (p *Program) images(s *State) (map[string]any, error) {
	images := map[string]any{}
	w := &world{p: p, s: s, ev: &Evidence{}}
	for _, name := range slices.Sorted(maps.Keys(p.sc.Spec.Images)) {
		course := w.resolveString(p.sc.Spec.Images[name])
		if _, err := reference.ParseNormalizedNamed(course); err != nil {
			return nil, &ParamError{Name: name, Text: text.Both("scenario.image-form", "image", clip(course), "error", err.Error())}
		}
		images[name] = mapImage(course, s.Registries)
	}
	for _, name := range slices.Sorted(maps.Keys(p.sc.Spec.ImageRules)) {
		rule := p.sc.Spec.ImageRules[name]
		image, _ := images[name].(string)
		for _, other := range slices.Sorted(maps.Keys(images)) {
			if rule.MustNotExist && other != name && images[other] == image {
				return nil, &ParamError{Name: name, Text: text.Both("scenario.image-exists", "image", image)}
			}
		}
		if like, _ := images[rule.SameRegistryAs].(string); like != "" && registryOf(like) != registryOf(image) {
			return nil, &ParamError{Name: name, Text: text.Both("scenario.image-registry", "image", image, "other", like)}
		}
	}
	return images, nil
}

func registryOf(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return image
	}
	return reference.Domain(named)
}

// preview starts the scenario with its defaults, so that a scenario that loads
// also starts.
func (c *checker) preview() {
	s, err := c.p.Start(StartArgs{Run: "r-preview"})
	if err != nil {
		msg := same(err.Error())
		if pe := (*ParamError)(nil); errors.As(err, &pe) {
			msg = pe.Text
		}
		c.problem("spec.images", msg, "")
		return
	}
	c.p.preset = s
}
