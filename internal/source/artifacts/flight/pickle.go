package flight

import (
	"errors"
	"fmt"
	"slices"
)

// Values of a pickle are nil, bool, int64, float64, string, *list and *dict; what
// is anything else is opaque.
type (
	list   struct{ items []any }
	dict   struct{ items map[string]any } // keys that are no strings are spelled
	opaque struct{}
	mark   struct{}
	global struct{}
)

// Opcodes of Python's pickletools that hold data. Those that name, make or call
// something give an opaque value: nothing is ever called or imported.
const (
	opMark        = '('
	opStop        = '.'
	opPop         = '0'
	opPopMark     = '1'
	opDup         = '2'
	opBinInt      = 'J'
	opBinInt1     = 'K'
	opBinInt2     = 'M'
	opLong1       = '\x8a'
	opLong4       = '\x8b'
	opBinFloat    = 'G'
	opNone        = 'N'
	opTrue        = '\x88'
	opFalse       = '\x89'
	opUnicode     = 'X'
	opShortStr    = '\x8c'
	opUnicode8    = '\x8d'
	opBytes       = 'B'
	opShortBytes  = 'C'
	opBinString   = 'T'
	opShortString = 'U'
	opEmptyList   = ']'
	opAppend      = 'a'
	opAppends     = 'e'
	opList        = 'l'
	opEmptyDict   = '}'
	opSetItem     = 's'
	opSetItems    = 'u'
	opDict        = 'd'
	opEmptyTuple  = ')'
	opTuple       = 't'
	opTuple1      = '\x85'
	opTuple2      = '\x86'
	opTuple3      = '\x87'
	opBinPut      = 'q'
	opLongBinPut  = 'r'
	opMemoize     = '\x94'
	opBinGet      = 'h'
	opLongBinGet  = 'j'
	opProto       = '\x80'
	opFrame       = '\x95'
	opGlobal      = 'c'
	opStackGlobal = '\x93'
	opReduce      = 'R'
	opBuild       = 'b'
	opBinPersID   = 'Q'
)

var errCut = errors.New("the pickle breaks off")

// maxValues is how many values a dump may have: some hundred for each of its
// collectives, of which there are 2,000 unless the user says otherwise.
const maxValues = 3_000_000

var errTooMany = fmt.Errorf("it has more than %d values", maxValues)

// pickle reads one pickle. All it makes is bounded by the length of the input.
type pickle struct {
	b     []byte
	at    int
	made  int // values
	stack []any
	memo  map[uint32]any
}

// read reads a pickle to its end.
func read(b []byte) (v any, err error) {
	p := &pickle{b: b, memo: map[uint32]any{}}
	for {
		op, err := p.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == opStop {
			return p.pop()
		}
		if err := p.step(op[0]); err != nil {
			return nil, fmt.Errorf("at byte %d: %w", p.at, err)
		}
		if p.made > maxValues {
			return nil, errTooMany
		}
	}
}

func (p *pickle) push(v any) {
	p.made++
	p.stack = append(p.stack, v)
}

var errStack = errors.New("its stack is out of order")

func (p *pickle) pop() (any, error) {
	if len(p.stack) == 0 {
		return nil, errStack
	}
	v := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	return v, nil
}

// popMark takes what lies above the last mark, and the mark.
func (p *pickle) popMark() ([]any, error) {
	for i, v := range slices.Backward(p.stack) {
		if _, ok := v.(mark); ok {
			items := append([]any(nil), p.stack[i+1:]...)
			p.stack = p.stack[:i]
			return items, nil
		}
	}
	return nil, errStack
}

func (p *pickle) top() any {
	if len(p.stack) == 0 {
		return nil
	}
	return p.stack[len(p.stack)-1]
}

// step does what one opcode says.
func (p *pickle) step(op byte) error {
	switch op {
	case opMark:
		p.push(mark{})
	case opPop:
		_, err := p.pop()
		return err
	case opPopMark:
		_, err := p.popMark()
		return err
	case opDup:
		p.push(p.top())
	case opNone:
		p.push(nil)
	case opTrue, opFalse:
		p.push(op == opTrue)
	case opProto:
		_, err := p.take(1)
		return err
	case opFrame:
		_, err := p.take(8)
		return err
	case opGlobal:
		if err := p.line(); err != nil {
			return err
		}
		p.push(global{})
		return p.line()
	case opBinInt, opBinInt1, opBinInt2, opLong1, opLong4, opBinFloat:
		return p.numeral(op)
	case opUnicode, opShortStr, opUnicode8, opBytes, opShortBytes, opBinString, opShortString:
		return p.text(op)
	case opBinPut, opLongBinPut, opMemoize, opBinGet, opLongBinGet:
		return p.remember(op)
	default:
		return p.build(op)
	}
	return nil
}

func (p *pickle) remember(op byte) error {
	i := uint64(len(p.memo))
	var err error
	switch op {
	case opBinPut, opBinGet:
		i, err = p.number(1)
	case opLongBinPut, opLongBinGet:
		i, err = p.number(4)
	}
	switch {
	case err != nil:
		return err
	case op == opBinGet || op == opLongBinGet:
		v, ok := p.memo[uint32(i)]
		if !ok {
			return errStack
		}
		p.push(v)
	default:
		p.memo[uint32(i)] = p.top()
	}
	return nil
}

// build makes lists, dictionaries and tuples of what lies on the stack.
func (p *pickle) build(op byte) error {
	switch op {
	case opEmptyList, opEmptyTuple:
		p.push(&list{})
	case opEmptyDict:
		p.push(&dict{map[string]any{}})
	case opAppend:
		return p.extend(1)
	case opSetItem:
		return p.set(2)
	case opAppends:
		return p.extend(-1)
	case opSetItems:
		return p.set(-1)
	case opList, opTuple, opDict:
		items, err := p.popMark()
		if err != nil {
			return err
		}
		if op != opDict {
			p.push(&list{items})
			return nil
		}
		p.push(&dict{map[string]any{}})
		return p.put(items)
	case opTuple1, opTuple2, opTuple3:
		items, err := p.last(int(op-opTuple1) + 1)
		p.push(&list{items})
		return err
	case opStackGlobal:
		_, err := p.last(2)
		p.push(global{})
		return err
	case opBinPersID:
		_, err := p.pop()
		p.push(opaque{})
		return err
	case opBuild:
		_, err := p.pop()
		return err
	case opReduce:
		return p.reduce()
	default:
		return fmt.Errorf("opcode %#x is not one of data", op)
	}
	return nil
}

// reduce takes a call that is not made: of TorchScript's build_intlist and its
// like, which give back their argument, the argument stays.
func (p *pickle) reduce() error {
	two, err := p.last(2)
	if err != nil {
		return err
	}
	if args, ok := two[1].(*list); ok && len(args.items) == 1 {
		if l, ok := args.items[0].(*list); ok {
			p.push(l)
			return nil
		}
	}
	p.push(opaque{})
	return nil
}

// last takes the last n values off the stack.
func (p *pickle) last(n int) ([]any, error) {
	if len(p.stack) < n {
		return nil, errStack
	}
	items := append([]any(nil), p.stack[len(p.stack)-n:]...)
	p.stack = p.stack[:len(p.stack)-n]
	return items, nil
}

// args are the last n values, or those above the mark where n is negative.
func (p *pickle) args(n int) ([]any, error) {
	if n < 0 {
		return p.popMark()
	}
	return p.last(n)
}

func (p *pickle) extend(n int) error {
	items, err := p.args(n)
	l, ok := p.top().(*list)
	if err != nil || !ok {
		return errStack
	}
	l.items = append(l.items, items...)
	return nil
}

func (p *pickle) set(n int) error {
	items, err := p.args(n)
	if err != nil {
		return err
	}
	return p.put(items)
}

// put adds keys and values to the dictionary on top.
func (p *pickle) put(items []any) error {
	d, ok := p.top().(*dict)
	if !ok || len(items)%2 != 0 {
		return errStack
	}
	for i := 0; i < len(items); i += 2 {
		switch key := items[i].(type) {
		case string:
			d.items[key] = items[i+1]
		case int64:
			d.items[fmt.Sprint(key)] = items[i+1]
		}
	}
	return nil
}
