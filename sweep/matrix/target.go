package matrix

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bench/experiment"
	"bench/experiment/roofline"
	"bench/experiment/target"
	"bench/experiment/text"
	"bench/sweep/strict"
)

// CheckWorkers reports every reason why several workers can't send the points of the matrix: what their load is, and
// secrets, which do not travel to them.
func (m *Matrix) CheckWorkers(points []experiment.Spec) error {
	var found []string
	bad := func(where, problem, hint string) {
		if text := where + ": " + problem + "\nhint: " + hint; !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	for i := range points {
		if problem, hint := points[i].CannotShare(); problem != "" {
			bad("row "+points[i].Name, problem, hint)
		}
	}
	m.checkSecrets(points, bad)
	if len(found) == 0 {
		return nil
	}
	return errors.New(strings.Join(found, "\nerror: "))
}

// checkSecrets reports secrets of the target. Each worker has a key of its own.
func (m *Matrix) checkSecrets(points []experiment.Spec, bad func(where, problem, hint string)) {
	const own = "remove it, and give the key to bench sweep and to each bench work: --api-key-env, --api-key-file"
	t := &m.Target
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		if target.IsSecretHeader(name) {
			bad("[target.headers] "+name, "may be a secret, which workers do not get", own)
		}
	}
	for i := range points {
		for _, c := range points[i].Mix {
			m.checkFields("extra_body of "+c.Name, c.Extra, bad)
			if c.APIKeyEnv != "" {
				bad("api_key_env of "+c.Name, "is a secret of a class, and a worker has one key for all",
					"run without --workers, or tell the classes apart by headers")
			}
		}
	}
	for _, url := range slices.Concat([]string{t.Endpoint}, t.Endpoints, t.Replicas, m.classEndpoints(points)) {
		if target.Redact(url) != url {
			bad("the endpoint "+target.Redact(url), "has a secret, which workers do not get", own)
		}
	}
	if target.Redact(t.Proxy) != t.Proxy {
		bad("[target] proxy", "has a user, whom workers do not get", "use a proxy without one with --workers")
	}
	m.checkFields("[target.extra_body]", t.ExtraBody, bad)
}

func (m *Matrix) checkFields(where string, fields map[string]any, bad func(where, problem, hint string)) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if isSecret(name) {
			bad(where+" "+name, "may be a secret, which workers do not get", "remove it, or run without --workers")
		}
	}
}

// CheckPrompts is an error if the API of a class does not take its real prompts. It is separate from Read, since the
// command line can name another API.
func (m *Matrix) CheckPrompts() error {
	var found []error
	seen := map[string]bool{}
	for i := range m.Points {
		s := &m.Points[i]
		s.PromptProblems(s.APIFor(m.Target), func(_, problem, hint string) {
			text := fmt.Sprintf("row %s: %s\nhint: %s", s.Name, problem, hint)
			if !seen[text] {
				seen[text] = true
				found = append(found, errors.New(text))
			}
		})
	}
	return errors.Join(found...)
}

// ForgetMachine clears what the file states of the machine behind its own endpoint, except what --set states, and
// reports whether that is worth a note.
func (m *Matrix) ForgetMachine() (noted bool) {
	t := &m.Target
	if t.Hardware != "" && !m.IsSet("target.hardware") {
		t.Hardware, noted = "", true
	}
	if !m.IsSet("target.gpus") {
		t.GPUs = 0
	}
	if !m.IsSet("target.precision") {
		t.Precision = ""
	}
	if t.GPUHourUSD != nil && !m.IsSet("target.gpu_hour_usd") {
		t.GPUHourUSD, noted = nil, true
	}
	stated := len(t.Facts)
	maps.DeleteFunc(t.Facts, func(name, _ string) bool { return !m.IsSet("target.facts." + strconv.Quote(name)) })
	return noted || len(t.Facts) < stated
}

// CheckHardware refuses a device or precision that is a slip of a known one: the run would have no roofline. An
// unknown name that is none is allowed; notes says so.
func (m *Matrix) CheckHardware(models roofline.Models, hardware roofline.Hardware) (notes []string, err error) {
	var problems strict.Problems
	check := func(key, what, value string, known []string, err error) {
		if err == nil {
			return
		}
		unknown := new(roofline.UnknownError)
		isOfTable := errors.As(err, &unknown)
		meant, slip := text.Slip(value, known)
		hint := fmt.Sprintf("did you mean %q?", meant)
		switch {
		case isOfTable && unknown.Many:
			problems = append(problems, m.problem("target."+key, unknown.Error(), "write one of them in full"))
		case slip && isOfTable:
			hint += " Else add an entry to " + unknown.File
			fallthrough
		case slip:
			problems = append(problems, m.problem("target."+key, fmt.Sprintf("unknown %s %q", what, value), hint))
		case isOfTable:
			notes = append(notes, fmt.Sprintf("%v; known are %s", err, strings.Join(known, ", ")))
		default:
			notes = append(notes, err.Error())
		}
	}
	t := m.Target
	if t.Hardware != "" {
		_, err := hardware.Find(t.Hardware)
		check("hardware", "device", t.Hardware, hardware.Names(), err)
	}
	check("precision", "precision", t.Precision, roofline.PrecisionNames(),
		roofline.CheckPrecision("precision", t.Precision))
	if len(problems) > 0 {
		return nil, problems
	}
	if t.Model != "" && t.Hardware != "" {
		if _, err := models.Find(t.Model); err != nil {
			notes = append(notes, err.Error())
		}
	}
	return notes, nil
}
