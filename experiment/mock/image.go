package mock

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"strings"
)

// picture is an image of a request. Its prompt tokens follow from its hash, so that the prefix cache finds it again.
type picture struct {
	Image
	seed uint64 // of its tokens
}

func (p *contentPart) picture() (*picture, error) {
	switch {
	case len(p.ImageURL) > 0:
		return readImageURL(p.ImageURL)
	case p.Source != nil && p.Source.Type == "url":
		return readDataURL(p.Source.URL)
	case p.Source != nil:
		return readImage(p.Source.Data)
	}
	return nil, nil
}

// readImageURL reads {"url": "data:…"}, or the address alone.
func readImageURL(b json.RawMessage) (*picture, error) {
	var url string
	if json.Unmarshal(b, &url) == nil {
		return readDataURL(url)
	}
	var object struct{ URL string }
	if err := json.Unmarshal(b, &object); err != nil {
		return nil, err
	}
	return readDataURL(object.URL)
}

func readDataURL(url string) (*picture, error) {
	head, data, found := strings.Cut(url, ";base64,")
	if !found || !strings.HasPrefix(head, "data:image/") {
		return nil, errors.New("the address of an image must begin with data:image/…;base64,")
	}
	p, err := readImage(data)
	if err == nil && head != "data:image/"+p.Type {
		err = fmt.Errorf("%s has a %s", head, p.Type)
	}
	return p, err
}

// readImage decodes a PNG or JPEG in base64, every pixel of it.
func readImage(data string) (*picture, error) {
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	decoded, kind, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	sum, size := sha256.Sum256(b), decoded.Bounds().Size()
	p := &picture{Image: Image{Bytes: len(b), SHA256: hex.EncodeToString(sum[:]), Type: kind, Width: size.X,
		Height: size.Y}}
	for _, c := range sum[:8] {
		p.seed = p.seed<<8 | uint64(c)
	}
	return p, nil
}
