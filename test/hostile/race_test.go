//go:build race

package hostile

// slowly says that the race detector makes this process several times larger: what
// the system says of a child's memory holds that of its parent at the start, so
// that the bound would be this process's own.
const slowly = true
