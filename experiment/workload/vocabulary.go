package workload

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"sync"
)

// Vocabulary turns the blocks of a prompt into what is sent: token ids, or words. A word is one token for the
// server's tokenizer, or costs a known mean number of tokens.
type Vocabulary struct {
	// FirstID and IDs: token ids are drawn from [FirstID, FirstID+IDs). IDs 0 = prompts are text.
	FirstID, IDs int32
	// Words are joined by Sep. Each costs TokensPerWord tokens; a prompt costs Overhead tokens more (special
	// tokens, chat template).
	Words         []string
	Sep           string
	TokensPerWord float64
	Overhead      int
}

func (v *Vocabulary) TokenIDs(dst []int32, r *Request) []int32 {
	var pcg rand.PCG
	src := rand.New(&pcg)
	for _, b := range r.Blocks {
		pcg.Seed(b.ID, streamBlock)
		for range b.Tokens {
			dst = append(dst, v.FirstID+src.Int32N(v.IDs))
		}
	}
	return dst
}

// Text is the prompt of a request as words. It is shorter by the overhead, at its end: this leaves shared beginnings
// equal, unless a suffix is shorter than the overhead. A prompt shorter than its overhead is one word.
func (v *Vocabulary) Text(r *Request) string {
	left := max(int(float64(r.Input-v.Overhead)/v.TokensPerWord+0.5), 1)
	var s strings.Builder
	var pcg rand.PCG
	src := rand.New(&pcg)
	words := 0
	upTo := func(n int) {
		for ; words < min(n, left); words++ {
			if words > 0 {
				s.WriteString(v.Sep)
			}
			s.WriteString(v.Words[src.IntN(len(v.Words))])
		}
	}
	tokens := 0
	for _, b := range r.Blocks {
		pcg.Seed(b.ID, streamBlock)
		// The number of words is computed from cumulative tokens, so that fractions do not add up over blocks.
		tokens += b.Tokens
		upTo(int(float64(tokens)/v.TokensPerWord + 1e-9))
	}
	upTo(left) // the last block is extended, because of rounding or an overhead below zero
	return s.String()
}

// Images are pictures in each prompt of a chat: generated PNG files of an exact size in pixels. No two of a run
// are equal, so that no cache of the server has one.
type Images struct {
	Count  int `toml:"count" json:"count"`   // in each prompt; 0 = 1
	Width  int `toml:"width" json:"width"`   // pixels
	Height int `toml:"height" json:"height"` // pixels
	// of the prompt that each image takes, as the model counts; 0 = bench asks the server
	Tokens int `toml:"tokens" json:"tokens,omitzero"`
}

const (
	maxImages    = 64
	maxImageSide = 8192
)

// n is the number of images in a prompt; 0 = nil.
func (im *Images) n() int {
	if im == nil {
		return 0
	}
	return max(im.Count, 1)
}

// ImageTokens are the prompt tokens of the request's images; 0 = none, or not known.
func (r *Request) ImageTokens() int {
	if r.Images == nil {
		return 0
	}
	return r.Images.n() * r.Images.Tokens
}

func (r *Request) Pictures() [][]byte {
	var out [][]byte
	for k := range r.Images.n() {
		out = append(out, r.Images.PNG(nil, mix(r.Blocks[0].ID, uint64(k))))
	}
	return out
}

// CountImages states the prompt tokens of each image of a class, where the row does not. It must come before Next.
func (p *Plan) CountImages(class string, tokens int) {
	for i := range p.classes {
		if c := &p.classes[i]; c.Name == class && c.Images != nil {
			counted := *c.Images
			counted.Tokens = tokens
			c.Images = &counted
		}
	}
}

func (im *Images) check(key string, bad mistakes) {
	bad.unless(im.Count >= 0 && im.Count <= maxImages, key+".count", "write count = 1",
		"%d images is not between 1 and %d", im.Count, maxImages)
	side := func(name string, pixels int) {
		bad.unless(pixels >= 1 && pixels <= maxImageSide, key+"."+name, "write width = 1024, height = 768",
			"%s is %d, not between 1 and %d pixels", name, pixels, maxImageSide)
	}
	side("width", im.Width)
	side("height", im.Height)
	bad.unless(im.Tokens >= 0 && im.Tokens <= maxTokens, key+".tokens", "remove tokens: bench asks the server",
		"%d tokens for an image is not between 1 and %d", im.Tokens, maxTokens)
}

// PNG appends a picture to dst: a random first line of pixels above a grey area. It is a function of the seed. Only
// the first line differs between two pictures of one size, so that making one takes little more than copying it.
func (im *Images) PNG(dst []byte, seed uint64) []byte {
	const rgb = 3
	line := 1 + rgb*im.Width // a filter byte and the pixels
	rest := greyBelow(im.Height-1, line)
	data := make([]byte, 0, len(rest.packed)+line+5+2+4)
	data = append(data, 0x78, 0x01)          // zlib's header
	for first := randomLine(line, seed); ; { // stored blocks, of at most 65,535 bytes each
		n := min(len(first), 1<<16-1)
		data = binary.LittleEndian.AppendUint16(append(data, 0), uint16(n))
		data = binary.LittleEndian.AppendUint16(data, ^uint16(n))
		data = append(data, first[:n]...)
		if first = first[n:]; len(first) == 0 {
			break
		}
	}
	data = append(data, rest.packed...)
	data = binary.BigEndian.AppendUint32(data, joinAdler(adler32.Checksum(randomLine(line, seed)), rest.sum, rest.size))

	dst = append(dst, "\x89PNG\r\n\x1a\n"...)
	head := binary.BigEndian.AppendUint32(nil, uint32(im.Width))
	head = append(binary.BigEndian.AppendUint32(head, uint32(im.Height)), 8, 2, 0, 0, 0) // 8 bits, RGB
	dst = appendPNGChunk(dst, "IHDR", head)
	dst = appendPNGChunk(dst, "IDAT", data)
	return appendPNGChunk(dst, "IEND", nil)
}

func appendPNGChunk(dst []byte, kind string, data []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(data)))
	from := len(dst)
	dst = append(append(dst, kind...), data...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[from:]))
}

func randomLine(n int, seed uint64) []byte {
	line := make([]byte, n+8)
	src := rand.NewPCG(seed, streamBlock)
	for i := 1; i < n; i += 8 {
		binary.LittleEndian.PutUint64(line[i:], src.Uint64())
	}
	return line[:n]
}

// grey is the lower part of an image, deflated to the end of the stream.
type grey struct {
	packed []byte
	sum    uint32 // Adler-32 of its bytes
	size   int
}

var greys sync.Map // of [2]int{lines, bytes of a line}

func greyBelow(lines, line int) grey {
	key := [2]int{lines, line}
	if g, ok := greys.Load(key); ok {
		return g.(grey)
	}
	one := bytes.Repeat([]byte{128}, line)
	one[0] = 0
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, flate.BestSpeed) // the level exists
	sum := adler32.New()
	for range lines {
		_, _ = w.Write(one) // a buffer's Write never fails
		_, _ = sum.Write(one)
	}
	_ = w.Close()
	g := grey{packed.Bytes(), sum.Sum32(), lines * line}
	greys.Store(key, g)
	return g
}

// joinAdler is the Adler-32 of two texts in a row, the second of n bytes, by RFC 1950 §8.2.
func joinAdler(first, second uint32, n int) uint32 {
	const base = 65521
	a1, b1 := first&0xffff, first>>16
	a2, b2 := second&0xffff, second>>16
	a := (a1 + a2 + base - 1) % base
	b := (uint64(n%base)*uint64(a1+base-1) + uint64(b1) + uint64(b2)) % base
	return uint32(b)<<16 | a
}
