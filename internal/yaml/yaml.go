// Package yaml reads and writes YAML as JSON, over go.yaml.in/yaml. Aliases are errors: a few of them stand for
// millions of values.
package yaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Texts reads a mapping whose scalars are all texts, as they are written.
func Texts(text []byte) (map[string]any, error) {
	return read(text, func(n *yaml.Node) any { return n.Value })
}

// JSON reads a mapping as JSON, its scalars by their types: .inf becomes "inf", .nan null.
func JSON(text []byte) ([]byte, error) {
	tree, err := read(text, typed)
	if err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

func read(text []byte, scalar func(*yaml.Node) any) (map[string]any, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if file.Kind != yaml.DocumentNode || file.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("the file is no mapping of YAML\nhint: it begins with a key and its value")
	}
	tree, err := value(file.Content[0], scalar)
	return tree.(map[string]any), err
}

func value(n *yaml.Node, scalar func(*yaml.Node) any) (v any, err error) {
	items := make([]any, len(n.Content))
	for i, inner := range n.Content {
		var wrong error
		items[i], wrong = value(inner, scalar)
		err = errors.Join(err, wrong)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return nil, fmt.Errorf("line %d: aliases are not read", n.Line)
	case yaml.ScalarNode:
		return scalar(n), nil
	case yaml.SequenceNode:
		return items, err
	}
	pairs := map[string]any{}
	for i := 0; i < len(items); i += 2 {
		pairs[n.Content[i].Value] = items[i+1]
	}
	return pairs, err
}

func typed(n *yaml.Node) (v any) {
	switch n.ShortTag() {
	case "!!null", "!!bool", "!!int", "!!float":
		if n.Decode(&v) != nil {
			return n.Value
		}
	default:
		return n.Value
	}
	if x, ok := v.(float64); ok && math.IsInf(x, 1) {
		return "inf"
	} else if ok && (math.IsNaN(x) || math.IsInf(x, -1)) {
		return nil
	}
	return v
}

// Marshal writes a mapping, in the order of its JSON. Texts are in double quotes.
func Marshal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	err = e.Encode(node(d))
	return out.Bytes(), err
}

// booleans are texts that YAML 1.1 takes for true or false, and the library does not.
var booleans = []string{"y", "n", "yes", "no", "on", "off"}

// node reads what json.Marshal wrote, which has no errors.
func node(d *json.Decoder) *yaml.Node {
	token, _ := d.Token()
	switch x := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: map[json.Delim]yaml.Kind{'{': yaml.MappingNode, '[': yaml.SequenceNode}[x]}
		for d.More() {
			if x == '{' {
				key := node(d)
				if !slices.Contains(booleans, key.Value) {
					key.Style = 0 // in quotes only if it needs them
				}
				n.Content = append(n.Content, key)
			}
			n.Content = append(n.Content, node(d))
		}
		_, _ = d.Token()
		return n
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: x, Style: yaml.DoubleQuotedStyle}
	case json.Number:
		number := x.String()
		if head, exponent, ok := strings.Cut(number, "e"); ok && !strings.Contains(head, ".") {
			number = head + ".0e" + exponent // without a point it is a text in YAML 1.1
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Value: number}
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(token)}
}
