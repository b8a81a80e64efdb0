package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPrints: bodies of all APIs whose prompts begin alike have equal first blocks.
func TestPrints(t *testing.T) {
	p := NewPrints(16)
	long := strings.Repeat("a long system prompt ", 9)
	for name, body := range map[string]string{
		"completions": `{"prompt":"` + long + `%s"}`,
		"list":        `{"prompt":["` + long + `","%s"]}`,
		"ids":         `{"prompt":[` + strings.Repeat("1,2,3,", 30) + `%d]}`,
		"ids, twice":  `{"prompt":[[` + strings.Repeat("1,2,3,", 30) + `4],[%d]]}`,
		"chat":        `{"messages":[{"role":"system","content":"` + long + `"},{"role":"user","content":"%s"}],"tools":[{"type":"function"}]}`,
		"parts":       `{"messages":[{"role":"user","content":[{"type":"text","text":"` + long + `"},{"type":"text","text":"%s"}]}]}`,
		"responses":   `{"instructions":"` + long + `","input":[{"role":"user","content":[{"type":"input_text","text":"%s"}]}]}`,
		"tool result": `{"input":[{"type":"function_call_output","call_id":"c","output":"` + long + `%s"}]}`,
		"messages":    `{"system":"` + long + `","messages":[{"role":"user","content":"%s"}]}`,
		"tool_result": `{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"` + long + `%s"}]}]}]}`,
	} {
		one, err := p.Request([]byte(fill(body, 1)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		two, err := p.Request([]byte(fill(body, 2)))
		n := len(one.Blocks)
		if err != nil || n < 12 || len(two.Blocks) != n || one.Bytes != two.Bytes || n != (one.Bytes+15)/16 {
			t.Errorf("%s: %d blocks, %d bytes; %d blocks, %d bytes; %v", name, n, one.Bytes, len(two.Blocks), two.Bytes, err)
			continue
		}
		if !slices.Equal(one.Blocks[:n-2], two.Blocks[:n-2]) || one.Blocks[n-1] == two.Blocks[n-1] {
			t.Errorf("%s: %d, %d", name, one.Blocks, two.Blocks)
		}
		if slices.Max(one.Blocks) >= 1<<53 {
			t.Errorf("%s: more than 53 bits", name)
		}
		again, _ := NewPrints(16).Request([]byte(fill(body, 1)))
		if slices.Contains(again.Blocks, one.Blocks[0]) {
			t.Errorf("%s: equal under another key", name)
		}
	}
}

// fill puts a number in a body.
func fill(body string, n int) string {
	if strings.Contains(body, "%d") {
		return fmt.Sprintf(body, n)
	}
	return fmt.Sprintf(body, fmt.Sprint(n))
}

// TestPrintsOfMedia: an image is no text, but equal images make equal blocks.
func TestPrintsOfMedia(t *testing.T) {
	p := NewPrints(16)
	request := func(image string) Print {
		t.Helper()
		got, err := p.Request([]byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"` + strings.Repeat("x", 64) + `"},` +
			`{"type":"image_url","image_url":{"url":"data:` + image + `"}},{"type":"text","text":"` + strings.Repeat("y", 64) + `"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one, same, other := request("abcd"), request("abcd"), request(strings.Repeat("efgh", 1000))
	if one.Media != 1 || one.Bytes != other.Bytes || !slices.Equal(one.Blocks, same.Blocks) {
		t.Errorf("%+v, %+v, %+v", one, same, other)
	}
	if before := 64 / 16; !slices.Equal(one.Blocks[:before], other.Blocks[:before]) || one.Blocks[before] == other.Blocks[before] || one.Blocks[before+2] == other.Blocks[before+2] {
		t.Errorf("%d, %d", one.Blocks, other.Blocks)
	}
}

// TestPrintsRefused: errors have no text of the body.
func TestPrintsRefused(t *testing.T) {
	for _, body := range []string{"", "secret", `["secret"]`, `{"model":"secret"}`, `{"messages":7}`, `{"messages":[{"role":"user","content":7}]}`, `{"prompt":{"x":}}`} {
		got, err := NewPrints(16).Request([]byte(body))
		if err == nil || strings.Contains(err.Error(), "secret") || got.Blocks != nil {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

// FuzzPrints: any body gives blocks of its bytes, or an error without its text.
func FuzzPrints(f *testing.F) {
	for _, body := range []string{`{"prompt":"x"}`, `{"prompt":[[1,2],[3]]}`, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]}`,
		`{"input":[{"type":"function_call","name":"f","arguments":"{}"}],"instructions":"y","tools":[{}]}`} {
		f.Add([]byte(body))
	}
	p := NewPrints(16)
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := p.Request(body)
		if err == nil && len(got.Blocks) != (got.Bytes+15)/16 || err != nil && got.Blocks != nil {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}

func BenchmarkPrints(b *testing.B) {
	text := strings.Repeat("some words of a long conversation, ", 1000) // 35 kB
	for name, body := range map[string]string{
		"chat":        `{"model":"m","messages":[{"role":"system","content":"` + text + `"},{"role":"user","content":"` + text + `"},{"role":"user","content":"` + text + `"}],"stream":true}`,
		"completions": `{"model":"m","prompt":"` + text + text + text + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			p := NewPrints(256)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if got, err := p.Request([]byte(body)); err != nil || got.Bytes < 3*len(text) {
					b.Fatal(got, err)
				}
			}
		})
	}
}
