// Package parquet writes lines of one struct as a Parquet file: flat columns and lists of integers, in pages that
// zstd compresses, without statistics. It is an eighth of the code that a library for the whole format links into
// the program (docs/libraries.md). Tests read the files with such a library.
package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"reflect"

	"github.com/klauspost/compress/zstd"
)

const (
	magic     = "PAR1"
	codecZstd = 6 // CompressionCodec

	dataPage       = 0 // PageType
	dictionaryPage = 2

	mostValues = 128 << 10 // of a page, at the end of a line: a MiB of integers
)

// Writer writes lines of type T.
type Writer[T any] struct {
	w        io.Writer
	z        *zstd.Encoder
	written  int64
	columns  []column
	groups   []group
	metadata [][2]string
}

// group is a written row group.
type group struct {
	lines  int
	chunks []chunk
}

// chunk is one column of a row group.
type chunk struct {
	dictionary, data int64 // places in the file; dictionary 0 = none
	values           int64
	plain, packed    int64 // bytes, with the headers of pages
}

// NewWriter writes to w, which stays the caller's to close. metadata are keys and values of the file.
func NewWriter[T any](w io.Writer, metadata ...[2]string) (*Writer[T], error) {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	out := &Writer[T]{w: w, z: z, columns: columns, metadata: metadata}
	return out, out.put([]byte(magic))
}

// Write appends lines as one row group.
func (w *Writer[T]) Write(lines []T) error {
	if len(lines) == 0 {
		return nil
	}
	g := group{lines: len(lines)}
	all := reflect.ValueOf(lines)
	for i := range w.columns {
		c, err := w.chunk(&w.columns[i], all)
		if err != nil {
			return err
		}
		g.chunks = append(g.chunks, c)
	}
	w.groups = append(w.groups, g)
	return nil
}

// chunk writes one column of lines. The dictionary stands before the pages, so that these are made first.
func (w *Writer[T]) chunk(c *column, lines reflect.Value) (out chunk, err error) {
	known := dictionary{known: map[string]uint32{}}
	pages := []page{{}}
	for i := range lines.Len() {
		p := &pages[len(pages)-1]
		if p.add(c, lines.Index(i).Field(c.field), &known); p.n < mostValues || i == lines.Len()-1 {
			continue
		}
		if !c.dict {
			if err := w.dataPage(&out, c, p, &known); err != nil {
				return out, err
			}
			*p = page{}
			continue
		}
		pages = append(pages, page{})
	}
	if c.dict {
		out.dictionary = w.written
		err = w.page(&out, known.texts, func(m *message, plain, packed int32) {
			m.int32(1, dictionaryPage)
			m.int32(2, plain)
			m.int32(3, packed)
			m.message(7, func(m *message) {
				m.int32(1, int32(known.n))
				m.int32(2, encodingPlain)
			})
		})
	}
	for i := range pages {
		if err == nil {
			err = w.dataPage(&out, c, &pages[i], &known)
		}
	}
	return out, err
}

func (w *Writer[T]) dataPage(out *chunk, c *column, p *page, known *dictionary) error {
	if out.data == 0 {
		out.data = w.written
	}
	out.values += int64(p.n)
	encoding := int32(encodingPlain)
	if c.dict {
		encoding = encodingDictionary
	}
	return w.page(out, p.encode(c, known), func(m *message, plain, packed int32) {
		m.int32(1, dataPage)
		m.int32(2, plain)
		m.int32(3, packed)
		m.message(5, func(m *message) {
			m.int32(1, int32(p.n))
			m.int32(2, encoding)
			m.int32(3, encodingRLE)
			m.int32(4, encodingRLE)
		})
	})
}

// page writes a page and its header.
func (w *Writer[T]) page(out *chunk, content []byte, header func(m *message, plain, packed int32)) error {
	packed := w.z.EncodeAll(content, nil)
	head := appendMessage(nil, func(m *message) { header(m, int32(len(content)), int32(len(packed))) })
	out.plain += int64(len(head) + len(content))
	out.packed += int64(len(head) + len(packed))
	if err := w.put(head); err != nil {
		return err
	}
	return w.put(packed)
}

func (w *Writer[T]) put(b []byte) error {
	n, err := w.w.Write(b)
	w.written += int64(n)
	if err != nil {
		return fmt.Errorf("writing Parquet: %w", err)
	}
	return nil
}

// Close writes the end of the file, without which it cannot be read.
func (w *Writer[T]) Close() error {
	foot := appendMessage(nil, w.footer)
	foot = binary.LittleEndian.AppendUint32(foot, uint32(len(foot)))
	return w.put(append(foot, magic...))
}

// footer is the FileMetaData.
func (w *Writer[T]) footer(m *message) {
	schema := []func(*message){func(m *message) {
		m.text(4, reflect.TypeFor[T]().Name())
		m.int32(5, int32(len(w.columns)))
	}}
	for i := range w.columns {
		schema = append(schema, w.columns[i].schema()...)
	}
	lines := 0
	for _, g := range w.groups {
		lines += g.lines
	}
	m.int32(1, 1) // version
	m.list(2, typeStruct, len(schema), func(b []byte, i int) []byte { return appendMessage(b, schema[i]) })
	m.int64(3, int64(lines))
	m.list(4, typeStruct, len(w.groups), func(b []byte, i int) []byte {
		return appendMessage(b, func(m *message) { w.group(m, &w.groups[i]) })
	})
	m.list(5, typeStruct, len(w.metadata), func(b []byte, i int) []byte {
		return appendMessage(b, func(m *message) {
			m.text(1, w.metadata[i][0])
			m.text(2, w.metadata[i][1])
		})
	})
	m.text(6, "bench")
}

func (w *Writer[T]) group(m *message, g *group) {
	total := int64(0)
	for _, c := range g.chunks {
		total += c.plain
	}
	m.list(1, typeStruct, len(g.chunks), func(b []byte, i int) []byte {
		return appendMessage(b, func(m *message) {
			m.int64(2, 0) // file_offset, no longer used
			m.message(3, func(m *message) { g.chunks[i].metadata(m, &w.columns[i]) })
		})
	})
	m.int64(2, total)
	m.int64(3, int64(g.lines))
}

// metadata is the chunk's ColumnMetaData.
func (k *chunk) metadata(m *message, c *column) {
	encodings := []int64{encodingPlain, encodingRLE}
	if c.dict {
		encodings = append(encodings, encodingDictionary)
	}
	path := c.path()
	m.int32(1, c.physical)
	m.list(2, typeInt32, len(encodings), func(b []byte, i int) []byte { return binary.AppendVarint(b, encodings[i]) })
	m.list(3, typeBinary, len(path), func(b []byte, i int) []byte { return appendText(b, path[i]) })
	m.int32(4, codecZstd)
	m.int64(5, k.values)
	m.int64(6, k.plain)
	m.int64(7, k.packed)
	m.int64(9, k.data)
	if c.dict {
		m.int64(11, k.dictionary)
	}
}
