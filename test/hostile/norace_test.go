//go:build !race

package hostile

const slowly = false
