package response

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema is a compiled JSON schema. It is for use by one goroutine.
type schema struct {
	compiled *jsonschema.Schema
	steps    *steps
}

const (
	maxSchema = 256 << 10 // bytes of a schema as JSON
	maxSteps  = 200_000   // subschemas that one check applies
)

var errTrailing = errors.New("something stands behind the JSON value")

// newSchema compiles a schema, which may be in a string; nil = none. Formats are not checked, as no server enforces
// them.
func newSchema(text json.RawMessage) (*schema, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	if len(text) > maxSchema {
		return nil, fmt.Errorf("the schema has %d bytes, more than %d", len(text), maxSchema)
	}
	var document any
	if err := decode(string(text), &document); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	if inner, ok := document.(string); ok {
		document = nil
		if err := decode(inner, &document); err != nil {
			return nil, fmt.Errorf("reading the schema in a string: %w", err)
		}
	}
	if !usable(document, maxDepth) {
		return nil, fmt.Errorf("the schema is nested deeper than %d, or has a number with more than three digits in its exponent", maxDepth)
	}
	s, err := compile(document, drafts[0])
	for _, older := range drafts[1:] {
		if err == nil {
			break
		}
		if old, oldErr := compile(document, older); oldErr == nil {
			return old, nil
		}
	}
	return s, err
}

// drafts are those by which a schema without $schema is read, the first that takes it.
var drafts = []*jsonschema.Draft{jsonschema.Draft2020, jsonschema.Draft7, jsonschema.Draft4}

const location = "answer:///schema"

// compile compiles a document. A panic of the compiler is an error of the schema.
func compile(document any, draft *jsonschema.Draft) (s *schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("compiling the schema: %v", p)
		}
	}()
	s = &schema{steps: &steps{left: maxSteps}}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(draft)
	c.UseLoader(noLoader{})
	c.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: "answer:///steps",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt,
			error) {
			return s.steps, nil
		},
	})
	c.AssertVocabs()
	if err := c.AddResource(location, document); err != nil {
		return nil, err
	}
	if s.compiled, err = c.Compile(location); err != nil {
		return nil, schemaError(err)
	}
	return s, nil
}

// schemaError is an error of the compiler in one line.
func schemaError(err error) error {
	var refused *jsonschema.LoadURLError
	if errors.As(err, &refused) {
		return fmt.Errorf("the schema refers to %s: write it inside the schema, under $defs", refused.URL)
	}
	text := strings.ReplaceAll(err.Error(), location, "the schema")
	causes := strings.Split(text, "\n")
	if len(causes) > 1 { // the cause deepest in the schema stands for all
		text = "not a JSON schema: " + strings.TrimLeft(slices.MaxFunc(causes[1:], byDepth), " -")
	}
	return errors.New(strings.ReplaceAll(text, "\n", " "))
}

func byDepth(a, b string) int {
	depth := func(line string) int {
		_, line, _ = strings.Cut(line, "at '")
		location, _, _ := strings.Cut(line, "'")
		return strings.Count(location, "/")
	}
	return cmp.Compare(depth(a), depth(b))
}

type noLoader struct{}

var errRemote = errors.New("references to files and addresses are not followed")

func (noLoader) Load(string) (any, error) { return nil, errRemote }

func (s *schema) check(value any) (reason Reason) {
	defer func() {
		if p := recover(); p != nil { // errSteps, or a fault of the library
			reason = TooComplex
		}
	}()
	s.steps.left = maxSteps
	if s.compiled.Validate(value) != nil {
		return Schema
	}
	return ""
}

// steps is a keyword of every schema that counts how often one is applied: nested combinations take exponential
// time.
type steps struct{ left int }

var errSteps = errors.New("too many steps")

func (s *steps) Validate(*jsonschema.ValidatorContext, any) {
	if s.left--; s.left < 0 {
		panic(errSteps)
	}
}
