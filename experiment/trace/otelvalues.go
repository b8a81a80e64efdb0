package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

func attributes(raw json.RawMessage) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if text := ""; bytes.HasPrefix(raw, []byte{'"'}) && json.Unmarshal(raw, &text) == nil {
		if raw = json.RawMessage(text); text == "" { // as tables of spans have them, such as Exgentic's
			return out, nil
		}
	}
	if json.Unmarshal(raw, &out) == nil {
		return out, nil
	}
	var list []keyValue
	if json.Unmarshal(raw, &list) != nil {
		return nil, errors.New("neither an object nor a list of keys and values")
	}
	for _, a := range list {
		v, err := a.Value.plain(0)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shown(a.Key), err)
		}
		out[a.Key] = v
	}
	return out, nil
}

type keyValue struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

type anyValue struct {
	String json.RawMessage `json:"stringValue"`
	Int    json.RawMessage `json:"intValue"` // a number or a string
	Double json.RawMessage `json:"doubleValue"`
	Bool   json.RawMessage `json:"boolValue"`
	Array  *struct {
		Values []anyValue `json:"values"`
	} `json:"arrayValue"`
	KeyValues *struct {
		Values []keyValue `json:"values"`
	} `json:"kvlistValue"`
}

func (v *anyValue) plain(depth int) (json.RawMessage, error) {
	for _, raw := range []json.RawMessage{v.String, v.Int, v.Double, v.Bool} {
		if raw != nil {
			return raw, nil
		}
	}
	if depth > maxNesting {
		return nil, errNested
	}
	var err error
	switch {
	case v.Array != nil:
		out := make([]json.RawMessage, len(v.Array.Values))
		for i := range v.Array.Values {
			if out[i], err = v.Array.Values[i].plain(depth + 1); err != nil {
				return nil, err
			}
		}
		return json.Marshal(out)
	case v.KeyValues != nil:
		out := map[string]json.RawMessage{}
		for _, kv := range v.KeyValues.Values {
			if out[kv.Key], err = kv.Value.plain(depth + 1); err != nil {
				return nil, err
			}
		}
		return json.Marshal(out)
	}
	return json.RawMessage("null"), nil
}
