package workload

import (
	"bytes"
	"image/png"
	"testing"

	"pgregory.net/rapid"
)

// TestPNG: a decoder of others reads each picture, its size is as stated, and no two are equal.
func TestPNG(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		im := Images{Width: rapid.IntRange(1, 300).Draw(t, "width"), Height: rapid.IntRange(1, 300).Draw(t, "height")}
		seed := rapid.Uint64().Draw(t, "seed")
		one, other := im.PNG(nil, seed), im.PNG([]byte("x"), seed+1)[1:]
		got, err := png.Decode(bytes.NewReader(one))
		if err != nil {
			t.Fatal(err)
		}
		if size := got.Bounds().Size(); size.X != im.Width || size.Y != im.Height {
			t.Fatalf("%v, asked %d × %d", size, im.Width, im.Height)
		}
		if im.Width > 2 && bytes.Equal(one, other) {
			t.Fatal("two seeds, one picture")
		}
		im.check("images", func(key, problem, _ string) { t.Fatalf("%s: %s", key, problem) })
	})
}

// TestWidePNG: a line longer than a stored block.
func TestWidePNG(t *testing.T) {
	im := Images{Width: maxImageSide * 4, Height: 2}
	if _, err := png.Decode(bytes.NewReader(im.PNG(nil, 1))); err != nil {
		t.Error(err)
	}
}

func BenchmarkPNG(b *testing.B) {
	im := Images{Width: 1024, Height: 1024}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = im.PNG(dst[:0], 7)
	}
}
