package tensorboard

import (
	"encoding/binary"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of tensorflow's event.proto, summary.proto and tensor.proto, and
// of tensorboard's plugins/hparams/plugin_data.proto.
const (
	eventWallTime = 1
	eventStep     = 2
	eventSummary  = 5

	valueTag    = 1
	valueSimple = 2
	valueTensor = 8
	valueMeta   = 9

	tensorType    = 1
	tensorShape   = 2
	tensorContent = 4
	tensorFloat   = 5
	tensorDouble  = 6
	tensorInt     = 7
	tensorInt64   = 10
	tensorHalf    = 13
	tensorUint32  = 16
	tensorUint64  = 17
)

// fields calls each with every field of a message: a varint or fixed value as v,
// a length-delimited one as b. It reports false where the message is damaged.
func fields(m []byte, each func(num protowire.Number, v uint64, b []byte)) bool {
	for len(m) > 0 {
		num, typ, n := protowire.ConsumeTag(m)
		if n < 0 {
			return false
		}
		m = m[n:]
		var v uint64
		var b []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(m)
		case protowire.Fixed32Type:
			var f uint32
			f, n = protowire.ConsumeFixed32(m)
			v = uint64(f)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(m)
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(m)
		default:
			n = protowire.ConsumeFieldValue(num, typ, m)
		}
		if n < 0 {
			return false
		}
		m = m[n:]
		each(num, v, b)
	}
	return true
}

// event is what is read of one event.
type event struct {
	at        time.Time
	step      int64
	summaries [][]byte
	value     value // the one at hand
}

// parse reads an event; false where it is none.
func (e *event) parse(data []byte) bool {
	e.at, e.step, e.summaries = time.Time{}, 0, e.summaries[:0]
	return fields(data, func(num protowire.Number, v uint64, b []byte) {
		switch num {
		case eventWallTime:
			e.at = wallTime(math.Float64frombits(v))
		case eventStep:
			e.step = int64(v)
		case eventSummary:
			e.summaries = append(e.summaries, b)
		}
	})
}

func wallTime(seconds float64) time.Time {
	if !(seconds > 0 && seconds < 1e11) {
		return time.Time{}
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)).UTC()
}

// value is one value of a summary.
type value struct {
	tag    []byte
	scalar float64
	is     bool   // a scalar
	meta   []byte // its metadata, if it has any
}

// values calls each with every value of a summary.
func (e *event) values(each func(v *value)) bool {
	ok := true
	for _, s := range e.summaries {
		ok = fields(s, func(num protowire.Number, _ uint64, b []byte) {
			if num != 1 {
				return
			}
			if e.value = (value{}); e.value.parse(b) {
				each(&e.value)
			} else {
				ok = false
			}
		}) && ok
	}
	return ok
}

func (o *value) parse(m []byte) bool {
	var tensor []byte
	ok := fields(m, func(num protowire.Number, v uint64, b []byte) {
		switch num {
		case valueTag:
			o.tag = b
		case valueSimple:
			o.scalar, o.is = float64(math.Float32frombits(uint32(v))), true
		case valueTensor:
			tensor = b
		case valueMeta:
			o.meta = b
		}
	})
	if tensor != nil && !o.is {
		o.scalar, o.is = scalar(tensor)
	}
	return ok
}

// Types of tensors that hold a number.
const (
	typeFloat    = 1
	typeDouble   = 2
	typeInt32    = 3
	typeInt64    = 9
	typeBfloat16 = 14
	typeHalf     = 19
	typeUint32   = 22
	typeUint64   = 23
)

// scalar is the one number that a tensor holds; false when it holds anything
// else.
func scalar(tensor []byte) (float64, bool) {
	var typ, listed uint64
	var content []byte
	one, has := true, false
	ok := fields(tensor, func(num protowire.Number, v uint64, b []byte) {
		switch num {
		case tensorType:
			typ = v
		case tensorShape:
			one = oneElement(b)
		case tensorContent:
			content = b
		case tensorFloat, tensorDouble, tensorInt, tensorInt64, tensorHalf, tensorUint32, tensorUint64:
			listed, has = v, true
			if b != nil {
				listed, has = packed(num, b)
			}
		}
	})
	if !ok || !one {
		return 0, false
	}
	if content != nil {
		if listed, has = fromContent(typ, content); !has {
			return 0, false
		}
	}
	if !has {
		listed = 0 // proto3 leaves out a zero
	}
	return number(typ, listed)
}

// oneElement reports whether a shape has no dimension of a size other than 1.
func oneElement(shape []byte) bool {
	one := true
	ok := fields(shape, func(num protowire.Number, v uint64, dim []byte) {
		if num == 3 && v != 0 { // unknown rank
			one = false
		}
		if num != 2 {
			return
		}
		size := uint64(0)
		one = fields(dim, func(num protowire.Number, v uint64, _ []byte) {
			if num == 1 {
				size = v
			}
		}) && one && size == 1
	})
	return ok && one
}

// packed is the one number of a packed list.
func packed(num protowire.Number, b []byte) (uint64, bool) {
	switch {
	case num == tensorFloat && len(b) == 4:
		return uint64(binary.LittleEndian.Uint32(b)), true
	case num == tensorDouble && len(b) == 8:
		return binary.LittleEndian.Uint64(b), true
	case num != tensorFloat && num != tensorDouble:
		v, n := protowire.ConsumeVarint(b)
		return v, n == len(b)
	}
	return 0, false
}

// fromContent is the one number of a tensor's raw bytes.
func fromContent(typ uint64, b []byte) (uint64, bool) {
	var raw [8]byte
	want := 0
	switch typ {
	case typeFloat, typeInt32, typeUint32:
		want = 4
	case typeDouble, typeInt64, typeUint64:
		want = 8
	case typeBfloat16, typeHalf:
		want = 2
	}
	if len(b) != want || want == 0 {
		return 0, false
	}
	copy(raw[:], b)
	return binary.LittleEndian.Uint64(raw[:]), true
}

func number(typ, v uint64) (float64, bool) {
	switch typ {
	case typeFloat:
		return float64(math.Float32frombits(uint32(v))), true
	case typeDouble:
		return math.Float64frombits(v), true
	case typeInt32:
		return float64(int32(v)), true
	case typeInt64:
		return float64(int64(v)), true
	case typeUint32:
		return float64(uint32(v)), true
	case typeUint64:
		return float64(v), true
	case typeBfloat16:
		return float64(math.Float32frombits(uint32(v) << 16)), true
	case typeHalf:
		return half(uint16(v)), true
	}
	return 0, false
}

// half reads an IEEE 754 binary16.
func half(h uint16) float64 {
	sign, exp, frac := 1.0, int(h>>10&31), float64(h&1023)
	if h>>15 != 0 {
		sign = -1
	}
	switch {
	case exp == 31 && frac != 0:
		return math.NaN()
	case exp == 31:
		return math.Inf(int(sign))
	case exp == 0:
		return sign * math.Ldexp(frac, -24)
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}
