package mock

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"net/http"
	"strings"
	"testing"
)

// picturePNG is an image of a size with a shade of its own, in base64.
func picturePNG(t *testing.T, width, height int, shade uint8) (string, []byte) {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, width, height))
	m.SetGray(1, 1, color.Gray{shade})
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), b.Bytes()
}

// Images count as tokens, are found in the cache by their bytes, and stand in the record with size and hash.
func TestImages(t *testing.T) {
	one, raw := picturePNG(t, 30, 20, 1)
	other, _ := picturePNG(t, 30, 20, 2)
	forms := []struct{ path, body string }{
		{"chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}},{"type":"text","text":"a b"}]}],"max_tokens":1}`},
		{"responses", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,%s"},{"type":"input_text","text":"a b"}]}],"max_output_tokens":1}`},
		{"messages", `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}},{"type":"text","text":"a b"}]}],"max_tokens":1}`},
	}
	sum := sha256.Sum256(raw)
	want := Image{Bytes: len(raw), SHA256: hex.EncodeToString(sum[:]), Type: "png", Width: 30, Height: 20}
	virtual(t, Config{Model: "m"}, func(t *testing.T, s *Server, h *http.Client) {
		all := imageTokens + 2 + 4 + 3
		for i, form := range append(forms, forms[0]) {
			data, cached := one, (all-1)/16*16
			switch i {
			case 0:
				cached = 0
			case 3:
				data, cached = other, 0
			}
			status, text := fetch(t, h, "http://mock/v1/"+form.path, fmt.Sprintf(form.body, data))
			r := truthsSince(t, h, "http://mock", i)[0]
			if status != 200 || r.PromptTokens != all || r.CachedTokens != cached || len(r.Images) != 1 || (r.Images[0] == want) != (i < 3) {
				t.Errorf("%s: %d %s\n%+v", form.path, status, text, r)
			}
		}
	})
}

// What is no image of the stated kind is refused.
func TestBadImages(t *testing.T) {
	good, raw := picturePNG(t, 4, 4, 1)
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	const body = `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":%q}}]}],"max_tokens":1}`
	virtual(t, quick(), func(t *testing.T, s *Server, h *http.Client) {
		for url, want := range map[string]int{
			"data:image/png;base64," + good:                                                 200,
			"data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(b.Bytes()):        200,
			"data:image/jpeg;base64," + good:                                                400,
			"data:image/png;base64," + base64.StdEncoding.EncodeToString(raw[:len(raw)-20]): 400,
			"data:image/png;base64," + strings.Repeat("!", 8):                               400,
			"https://example.org/a.png":                                                     400,
		} {
			status, text := fetch(t, h, "http://mock/v1/chat/completions", fmt.Sprintf(body, url))
			if status != want {
				t.Errorf("%.60s: %d %s", url, status, text)
			}
		}
	})
}
