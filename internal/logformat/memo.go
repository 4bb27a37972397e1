package logformat

// known is what a name means.
type known struct {
	name string // canonical, "" for none
	role role
}

// maxKnown bounds the names that a Reader remembers; logs repeat a few dozen.
const maxKnown = 512

// known is what key means; names are remembered as the log spells them.
func (r *Reader) known(key []byte) known {
	if k, ok := r.memo[string(key)]; ok {
		return k
	}
	k := known{canonical(key), counterOf(key)}
	if len(r.memo) < maxKnown && len(key) <= maxName {
		r.memo[string(key)] = k
	}
	return k
}
