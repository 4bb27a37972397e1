// Package parquet reads the first rows of single columns of a Parquet file, as
// text: enough to check labels, no data frame. It knows what the usual writers
// (Arrow, Spark, DuckDB, Polars) write by default; a column below a list, an
// encrypted file or a rare coding is refused by name. It allocates in proportion
// to what is really in the file and asked for, never to what a header claims.
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// Bounds of what is read.
const (
	maxFooter  = 16 << 20
	maxSchema  = 20_000 // elements
	maxGroups  = 128    // row groups; a writer puts a thousand rows or more in one
	maxPage    = 64 << 20
	maxDict    = 1 << 20   // entries
	maxDecoded = 512 << 20 // bytes of all pages of a file together
	maxText    = 256       // bytes of one value
)

// File is the description of one Parquet file.
type File struct {
	Rows    int64
	Columns []*Column // the leaves, in order

	r       io.ReaderAt
	groups  []group
	decoded int64
}

// Column is one leaf of the schema. Its name is dotted when it lies in a struct.
type Column struct {
	Name string

	f        *File
	at       int // among the leaves
	typ      int
	width    int // of a fixed-length value
	def      int // the definition level of a value that is there
	repeated bool
	unsigned bool
	number   bool // of decimal digits, scale of them after the point
	scale    int
}

type group struct {
	rows   int64
	chunks []chunk
}

// chunk is where a column of one row group lies.
type chunk struct {
	codec, data, dict, size int64
	elsewhere               bool // in another file
}

// Open reads the description at the end of the file.
func Open(r io.ReaderAt, size int64) (*File, error) {
	end := make([]byte, 8)
	if size < 12 {
		return nil, errors.New("parquet: the file is too short")
	}
	if _, err := r.ReadAt(end, size-8); err != nil {
		return nil, fmt.Errorf("parquet: read the end: %w", err)
	}
	switch string(end[4:]) {
	case "PAR1":
	case "PARE":
		return nil, errors.New("parquet: the file is encrypted")
	default:
		return nil, errors.New("parquet: the file does not end as a Parquet file does; it was not written to its end or is damaged")
	}
	n := int64(binary.LittleEndian.Uint32(end))
	if n > size-12 || n > maxFooter {
		return nil, errors.New("parquet: the description at its end is larger than can be")
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, size-8-n); err != nil {
		return nil, fmt.Errorf("parquet: read the description: %w", err)
	}
	f := &File{r: r}
	if err := f.describe(b); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) describe(b []byte) error {
	t := &thrift{b: b}
	var tree []element
	t.fields(func(id int, typ byte) bool {
		switch {
		case id == 2 && typ == typeList:
			t.list(func(byte) { tree = append(tree, t.element()) }, maxSchema)
		case id == 3:
			f.Rows = t.int(typ)
		case id == 4 && typ == typeList:
			t.list(func(byte) { f.group(t) }, 0)
		default:
			return false
		}
		return true
	})
	if t.err != nil {
		return t.err
	}
	return f.leaves(tree)
}

// element is one node of the schema, which is written as a list, depth first.
type element struct {
	name                             string
	typ, width, repetition, children int
	converted, scale                 int
	leaf                             bool
}

func (t *thrift) element() (e element) {
	t.fields(func(id int, typ byte) bool {
		switch id {
		case 1:
			e.typ, e.leaf = int(t.int(typ)), true
		case 2:
			e.width = int(t.int(typ))
		case 3:
			e.repetition = int(t.int(typ))
		case 4:
			e.name = string(t.bytes(typ))
		case 5:
			e.children = int(t.int(typ))
		case 6:
			e.converted = int(t.int(typ))
		case 7:
			e.scale = int(t.int(typ))
		default:
			return false
		}
		return true
	})
	return e
}

// leaves makes columns of the schema's leaves.
func (f *File) leaves(tree []element) error {
	type open struct {
		prefix   string
		left     int
		def      int
		repeated bool
	}
	if len(tree) == 0 {
		return errors.New("parquet: no schema")
	}
	stack := []open{{left: tree[0].children}}
	for _, e := range tree[1:] {
		for len(stack) > 0 && stack[len(stack)-1].left <= 0 {
			stack = stack[:len(stack)-1]
		}
		if len(stack) == 0 || len(stack) > maxDepth {
			return errors.New("parquet: the schema is damaged")
		}
		top := &stack[len(stack)-1]
		top.left--
		in := *top
		if e.repetition > 0 {
			in.def++
		}
		in.repeated = in.repeated || e.repetition == 2
		name := in.prefix + e.name
		if len(name) > 4*maxText {
			return errors.New("parquet: the schema is damaged")
		}
		if !e.leaf {
			stack = append(stack, open{name + ".", e.children, in.def, in.repeated})
			continue
		}
		f.Columns = append(f.Columns, &Column{
			Name: name, f: f, at: len(f.Columns), typ: e.typ, width: e.width, def: in.def, repeated: in.repeated,
			unsigned: e.converted >= 11 && e.converted <= 14, number: e.converted == convertedDecimal, scale: decimals(e),
		})
	}
	return nil
}

const convertedDecimal = 5

func decimals(e element) int {
	if e.converted == convertedDecimal && e.scale > 0 && e.scale < 20 {
		return e.scale
	}
	return 0
}

// group notes where the columns of a row group lie.
func (f *File) group(t *thrift) {
	var g group
	t.fields(func(id int, typ byte) bool {
		switch {
		case id == 1 && typ == typeList:
			t.list(func(byte) { g.chunks = append(g.chunks, t.chunk()) }, maxSchema)
		case id == 3:
			g.rows = t.int(typ)
		default:
			return false
		}
		return true
	})
	if len(f.groups) < maxGroups && g.rows > 0 {
		f.groups = append(f.groups, g)
	}
}

func (t *thrift) chunk() (c chunk) {
	t.fields(func(id int, typ byte) bool {
		switch {
		case id == 1:
			c.elsewhere = len(t.bytes(typ)) > 0
		case id == 3 && typ == typeStruct:
			t.fields(func(id int, typ byte) bool {
				switch id {
				case 4:
					c.codec = t.int(typ)
				case 7:
					c.size = t.int(typ)
				case 9:
					c.data = t.int(typ)
				case 11:
					c.dict = t.int(typ)
				default:
					return false
				}
				return true
			})
		default:
			return false
		}
		return true
	})
	return c
}

// Read gives the first values of the column as text, "" for null, at most rows
// of them. What was read before an error is given with it.
func (c *Column) Read(rows int) ([]string, error) {
	if c.repeated {
		return nil, fmt.Errorf("parquet: column %s holds lists", c.Name)
	}
	var out []string
	for _, g := range c.f.groups {
		if len(out) >= rows {
			break
		}
		if c.at >= len(g.chunks) {
			return out, errors.New("parquet: a row group lacks columns")
		}
		p := &pages{c: c, ch: g.chunks[c.at]}
		got, err := p.read(int(min(int64(rows-len(out)), g.rows)))
		out = append(out, got...)
		if err != nil {
			return out, fmt.Errorf("parquet: column %s: %w", c.Name, err)
		}
	}
	return out, nil
}

func (c *Column) levelBits() int { return bits.Len(uint(c.def)) }
